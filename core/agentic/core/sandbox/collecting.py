"""Collects the files that a run has made, and follows none of its links."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

from agentic.core.errors import storable
from agentic.core.records import record
from agentic.core.sandbox.model import (
    MAX_COLLECTED,
    MAX_NAME_CHARS,
    Ending,
    SandboxJob,
    SandboxResult,
    is_plain,
)

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_DEPTH = 30
_MAX_SKIPPED = 100


@record(kw_only=True)
class Collected:
    """The files of a run: name -> content, and the names of others."""

    files: dict[str, bytes]
    skipped: tuple[str, ...]


class Collection:
    """Files as they are found: new and changed ones, within the limits of a job."""

    def __init__(self, job: SandboxJob) -> None:
        self._job = job
        self._left = job.limits.disk_bytes
        self._files: dict[str, bytes] = {}
        self._skipped: list[str] = []

    @property
    def left_bytes(self) -> int:
        """Bytes that further files may have."""
        return self._left

    def wants(self, name: str) -> bool:
        """Whether the content of a file should be read; otherwise it is not wanted, or skipped."""
        if not self._job.keeps(name):
            return False
        if len(self._files) < MAX_COLLECTED and is_plain(name):
            return True
        self.skip(name)
        return False

    def add(self, name: str, content: bytes) -> None:
        """Add a file, unless the job brought the same content."""
        if self._job.files.get(name) == content:
            return
        if len(content) > self._left:
            self.skip(name)
            return
        self._left -= len(content)
        self._files[name] = content

    def skip(self, name: str) -> None:
        """Note a file that is not collected."""
        if self._job.keeps(name) and len(self._skipped) < _MAX_SKIPPED:
            self._skipped.append(storable(name[:MAX_NAME_CHARS]))

    def done(self) -> Collected:
        """Return the files."""
        return Collected(files=dict(sorted(self._files.items())), skipped=tuple(sorted(self._skipped)))


def collect(folder: int, job: SandboxJob) -> Collected:
    """Return the new and changed files in an open folder. No process of the run may be left.

    Args:
        folder: Descriptor of the folder; it stays open.
        job: The job that the folder belongs to.
    """
    found = Collection(job)
    for name, place, entry in _entries(folder, "", found):
        _read(name, place, entry, found)
    return found.done()


def _entries(folder: int, prefix: str, found: Collection) -> Iterator[tuple[str, int, str]]:
    names = sorted(os.listdir(folder))
    for entry in names:
        name = prefix + entry
        try:
            kind = os.stat(entry, dir_fd=folder, follow_symlinks=False).st_mode
        except OSError:
            continue
        if stat.S_ISREG(kind):
            yield name, folder, entry
        elif not stat.S_ISDIR(kind) or name.count("/") >= _MAX_DEPTH:
            found.skip(name)
        else:
            yield from _inside(entry, folder, name, found)


def _inside(entry: str, folder: int, name: str, found: Collection) -> Iterator[tuple[str, int, str]]:
    try:
        inner = os.open(entry, _FOLDER, dir_fd=folder)
    except OSError:  # the command has taken away its permissions
        found.skip(name)
        return
    try:
        yield from _entries(inner, f"{name}/", found)
    finally:
        os.close(inner)


def _read(name: str, folder: int, entry: str, found: Collection) -> None:
    if not found.wants(name):
        return
    try:
        place = os.open(entry, _FILE, dir_fd=folder)
    except OSError as exc:
        if exc.errno != errno.ENOENT:
            found.skip(name)
        return
    with os.fdopen(place, "rb") as file:
        # One that is too long is not read: thousands of them, sparse or linked, would take minutes.
        is_long = os.fstat(file.fileno()).st_size > found.left_bytes
        content = b"" if is_long else file.read(found.left_bytes + 1)
    if is_long:
        found.skip(name)
    else:
        found.add(name, content)


def held_to_limits(said: SandboxResult, job: SandboxJob) -> SandboxResult:
    """Return a result of another machine, within the limits of its job: that machine may be hostile."""
    found = Collection(job)
    for name in said.skipped:
        found.skip(name)
    for name, content in said.files.items():
        if found.wants(name):
            found.add(name, content)
    collected = found.done()
    limit = job.limits.output_bytes
    return said.model_copy(
        update={
            "stdout": said.stdout[:limit],
            "stderr": said.stderr[:limit],
            "files": collected.files,
            "skipped": collected.skipped,
            "exit_code": said.exit_code if said.ended is Ending.EXITED else None,
        }
    )

"""Files as tar archives, from machines that are not trusted, and to them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping

from agentic.core.sandbox.collecting import Collected, Collection
from agentic.core.sandbox.errors import SandboxError
from agentic.core.sandbox.model import SandboxJob, folders_of

OVERHEAD_BYTES = 2 * 1024 * 1024
"""Headers and padding of an archive that is within the limits of a job."""


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return files as an archive."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in folders_of(files):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return target.getvalue()


def unpacked_changes(archive: bytes, job: SandboxJob) -> Collected:
    """Return the new and changed files in an archive of a run; nothing is written anywhere.

    Raises:
        SandboxError: It is damaged.
    """
    found = Collection(job)
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as opened:
            for entry in opened:
                _take(opened, entry, found)
    except (tarfile.TarError, ValueError, OverflowError, OSError) as exc:
        raise SandboxError(f"the archive with the files of a run is damaged ({exc}); run it again") from exc
    return found.done()


def _take(opened: tarfile.TarFile, entry: tarfile.TarInfo, found: Collection) -> None:
    name = entry.name.removeprefix("./")
    if entry.isdir() or name == ".":
        return
    if not entry.isreg() or name.startswith("/") or ".." in name.split("/"):
        found.skip(name)
    elif found.wants(name):
        if entry.size > found.left_bytes:
            found.skip(name)
        elif (file := opened.extractfile(entry)) is not None:
            found.add(name, file.read(found.left_bytes + 1))

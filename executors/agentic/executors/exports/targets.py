"""Targets of records: a file that exists completely or not at all, or a stream."""

from __future__ import annotations

import gzip
import io
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import urlsplit

from agentic.core.remote_files import check_url, is_url, replaced_url, shown
from agentic.executors.exports.errors import ExportError, load_for_export
from agentic.executors.exports.formats import ExportFormat

T = TypeVar("T")

STDOUT = "-"
_FORMATS = {
    ".jsonl": ExportFormat.JSONL,
    ".ndjson": ExportFormat.JSONL,
    ".json": ExportFormat.JSON,
    ".csv": ExportFormat.CSV,
    ".parquet": ExportFormat.PARQUET,
    ".xlsx": ExportFormat.XLSX,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTarget:
    """The target of records.

    Attributes:
        path: The file; None is standard output, or the URL.
        url: A file elsewhere: ``s3://bucket/rows.parquet``.
        format: Format of the records.
        is_packed: Whether it is compressed with gzip.
        is_stream: Whether it is written directly: standard output, a pipe, a device.
    """

    path: Path | None
    format: ExportFormat
    is_packed: bool = False
    is_stream: bool = False
    url: str | None = None

    @classmethod
    def parse(cls, name: str) -> ExportTarget:
        """Parse ``items.jsonl``, ``items.json``, ``items.csv``, ``items.parquet``, ``items.xlsx``, or ``-``.

        Text may have ``.gz`` after it; ``-`` is JSON lines on standard output. A URL is for fsspec.

        An existing target that is not a file (a named pipe, ``/dev/stdout``) gets JSON lines, too, unless
        its name has another format.

        Raises:
            ExportError: The name does not show the format.
        """
        if name == STDOUT:
            return cls(path=None, format=ExportFormat.JSONL, is_stream=True)
        url = name if is_url(name) else None
        path = Path(name if url is None else urlsplit(url).path)
        is_packed = path.suffix == ".gz"
        ending = (path.with_suffix("") if is_packed else path).suffix
        is_stream = url is None and path.exists() and not path.is_file() and not path.is_dir()
        chosen = _FORMATS.get(ending, ExportFormat.JSONL if is_stream else None)
        said = repr(name if url is None else shown(url))
        if chosen is None:
            endings = ", ".join(_FORMATS)
            raise ExportError(f"{said} has no known format; use a name that ends in {endings}, or '-'")
        if not chosen.is_text and (is_packed or is_stream):
            reason = "is compressed already" if is_packed else "cannot be written to a stream"
            raise ExportError(f"{said}: {chosen} {reason}; use a name that ends in .{chosen}")
        return cls(
            path=None if url else path, format=chosen, is_packed=is_packed, is_stream=is_stream, url=url
        )

    @property
    def is_stdout(self) -> bool:
        """Whether it is standard output."""
        return self.path is None and self.url is None

    def __str__(self) -> str:
        if self.url is not None:
            return shown(self.url)
        return "standard output" if self.path is None else str(self.path)

    def check(self) -> None:
        """Make sure that the file can be written, by making one beside it for a moment.

        And that the library for its format is installed.

        Raises:
            ExportError: It cannot.
        """
        if self.format is ExportFormat.PARQUET:
            load_for_export("pyarrow", "parquet")
        elif self.format is ExportFormat.XLSX:
            load_for_export("xlsxwriter", "xlsx")
        if self.url is not None:
            check_url(self.url)
        if self.path is None or self.is_stream:
            return
        if self.path.is_dir():
            raise _folder(self.path)
        probe = _beside(self.path)
        try:
            probe.touch(exist_ok=False)
            probe.unlink()
        except OSError as exc:
            raise _unwritable(self.path, exc) from None

    @contextmanager
    def opened(self) -> Iterator[Utf8Writer]:
        """Open it for text. A file appears at the end of the block, but not if the block raises.

        Raises:
            ExportError: It cannot be written.
            BrokenPipeError: The reader of the stream is gone.
        """
        with self.raw() as raw:
            if not self.is_packed:
                yield Utf8Writer(raw)
                raw.flush()
                return
            # Without time and name, the same rows make the same file.
            with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=6) as packed:
                buffer = io.BufferedWriter(packed)
                yield Utf8Writer(buffer)
                buffer.flush()

    def raw(self) -> AbstractContextManager[IO[bytes]]:
        """Open it for bytes, as :meth:`opened` does for text."""
        if self.url is not None:
            return replaced_url(self.url)
        if self.path is None:
            return nullcontext(sys.stdout.buffer)
        return self.path.open("wb") if self.is_stream else _replaced(self.path)


@dataclass(frozen=True, slots=True)
class Utf8Writer:
    """Encodes text as UTF-8 and passes it on."""

    raw: IO[bytes] | io.BufferedWriter

    def write(self, text: str, /) -> int:
        """Write ``text``; return its bytes."""
        return self.raw.write(text.encode())


@contextmanager
def written(path: Path) -> Iterator[Utf8Writer]:
    """Write a text file, which is complete at the end of the block, or unchanged if the block raises.

    Raises:
        ExportError: It cannot be written.
    """
    if path.is_dir():
        raise _folder(path)
    with _replaced(path) as raw:
        yield Utf8Writer(raw)


def while_read(write: Callable[[], T]) -> T | None:
    """Return the result of ``write``; None once standard output has no reader, as with ``| head``."""
    try:
        return write()
    except BrokenPipeError:
        # Buffered text would be written when the interpreter ends, and fail again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return None


@contextmanager
def _replaced(path: Path) -> Iterator[IO[bytes]]:
    real = path.resolve()  # a link stays a link
    temporary = _beside(real)
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(real)
    except OSError as exc:
        raise _unwritable(path, exc) from exc
    finally:
        temporary.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")


def _folder(path: Path) -> ExportError:
    return ExportError(f"{path} is a folder; name a file in it")


def _unwritable(path: Path, exc: OSError) -> ExportError:
    return ExportError(
        f"{path} cannot be written ({exc.strerror}); choose another place, or create its folder"
    )

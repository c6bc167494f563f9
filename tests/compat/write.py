"""Writes what the tests beside it read, in a checkout of an older version that got a copy of this folder.

``python -m tests.compat.write FOLDER``

It leaves databases with runs that were killed under way or wait for
an answer, and what is on a NATS server: events and live state.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import nats
from nats.js.errors import NotFoundError
from tests.compat.flows import HALT, order, shop
from tests.compat.site import URL, site

from agentic.core.services import ServiceSupervisor, nats_service
from agentic.mappers.checkpoints.store import SqlCheckpointStore

HTTP = {"allow_private_hosts": ["127.0.0.1"], "obey_robots": False}
DETAIL = {
    "match": ["*/item/*"],
    "config": {
        "schema": {
            "title": {"selector": "h1", "required": True},
            "price": {"selector": ".price", "type": "number", "required": True},
        }
    },
}
CRAWL = {
    "name": "crawl",
    "http": HTTP,
    "steps": [{"type": "crawl", "start": f"{URL}/", "max_parallel": 2, "detail": DETAIL}],
}
LOOP = {
    "name": "loop",
    "http": HTTP,
    "error_handling": {"selector_missing": {"retry_count": 1, "backoff_s": 0.01}},
    "steps": [
        {"actor": "fetch", "config": {"url": f"{URL}/"}},
        {"actor": "extract_list", "config": {"item_selector": "a.item"}},
        {
            "type": "loop",
            "source": "list_item_urls",
            "max_parallel": 2,
            "loop_steps": [
                {"actor": "fetch"},
                {"actor": "extract_detail", "config": DETAIL["config"]},
            ],
        },
        {"actor": "aggregate", "config": {"key": "url"}},
    ],
}

BEGIN = """
import sys
from agentic.core.settings import load_settings
from agentic.executors import RunClient
from agentic.executors.durable.runs.service import Submission
from tests.compat.flows import order
with RunClient(load_settings()) as client:
    handle = client.submit("tests.compat.flows:shop", order(), Submission(run_id=sys.argv[1]))
    handle.result()
"""


def write(folder: Path) -> None:
    """Write everything into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with _home(folder, "asked") as (home, environment):
        asyncio.run(_write_asked(home, environment, folder))
    for name in ("total", "check"):
        with _home(folder, name) as (_, environment):
            _begin(environment | {HALT: name}, name)
    for spec, page in ((CRAWL, "/item/17"), (LOOP, "/item/6")):
        with _home(folder, str(spec["name"])) as (home, environment):
            (home / "pipeline.yaml").write_text(json.dumps(spec))
            _kill_under_way(home, environment, page)


@contextmanager
def _home(folder: Path, name: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """Give a folder with a database of its own, and the environment of commands on it; pack the database."""
    with tempfile.TemporaryDirectory() as path:
        home = Path(path)
        environment = os.environ | {"AGENTIC_HOME": path, "AGENTIC_WORKFLOW_MODULES": '["tests"]'}
        environment.pop("AGENTIC_DATABASE_URL", None)
        _command(environment, "db", "upgrade")
        _command(environment, "projects", "add", "default")
        yield home, environment
        database = sqlite3.connect(home / "agentic.db")
        for statement in (
            # No name of a machine.
            "UPDATE activations SET worker = 'elsewhere/1/0' WHERE worker IS NOT NULL",
            "UPDATE executions SET worker = 'elsewhere/1/0' WHERE worker IS NOT NULL",
            "PRAGMA wal_checkpoint(TRUNCATE)",
            "PRAGMA journal_mode=DELETE",
            "VACUUM",
        ):
            database.execute(statement)
            database.commit()
        database.close()
        with gzip.GzipFile(folder / f"{name}.db.gz", "wb", mtime=0) as packed:
            packed.write((home / "agentic.db").read_bytes())


async def _write_asked(home: Path, environment: dict[str, str], folder: Path) -> None:
    """Write runs that wait for an answer: in the ledger, as checkpoints, and what NATS knows of them."""
    async with ServiceSupervisor(home, [nats_service(home)]) as supervisor:
        url = supervisor.urls["nats"]
        with_nats = environment | {"AGENTIC_NATS_URL": url}
        await asyncio.to_thread(_begin, with_nats, "asked")
        await asyncio.to_thread(_command, with_nats, "reconcile", "--every", "1", timeout_s=20)
        store = SqlCheckpointStore.open(f"sqlite:///{home / 'agentic.db'}", project="default")
        await shop().run(order(), run_id="stored", checkpoints=store)
        store.close()
        with gzip.GzipFile(folder / "nats.json.gz", "wb", mtime=0) as packed:
            packed.write(json.dumps(await _stored(url), indent=1, sort_keys=True).encode())


def _command(environment: dict[str, str], *arguments: str, timeout_s: float | None = None) -> None:
    command = [str(Path(sys.executable).with_name("agentic")), *arguments]
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(command, env=environment, check=True, timeout=timeout_s)


def _begin(environment: dict[str, str], run_id: str) -> None:
    began = subprocess.Popen([sys.executable, "-c", BEGIN, run_id], env=environment)
    with suppress(subprocess.TimeoutExpired):  # it waits for an answer
        began.wait(10)
    began.send_signal(signal.SIGKILL)
    began.wait()


def _kill_under_way(home: Path, environment: dict[str, str], page: str) -> None:
    with site(page) as server:
        command = [str(Path(sys.executable).with_name("agentic")), "run", "pipeline.yaml"]
        running = subprocess.Popen(command, env=environment, cwd=home)
        assert server.reached.wait(60)
        time.sleep(3)  # what came before is stored
        running.send_signal(signal.SIGKILL)
        running.wait()


async def _stored(url: str) -> dict[str, object]:
    """Return the messages of each stream: events, and the values of buckets."""
    connection = await nats.connect(url)
    stream = connection.jetstream()
    found: dict[str, object] = {}
    for info in await stream.streams_info():
        name = info.config.name
        assert name
        if "LEASES" in name:  # by whom, and for seconds only
            continue
        messages = []
        for sequence in range(info.state.first_seq, info.state.last_seq + 1):
            try:
                message = await stream.get_msg(name, sequence)
            except NotFoundError:
                continue
            messages.append(
                {
                    "subject": message.subject,
                    "headers": dict(message.headers or {}),
                    "data": base64.b64encode(message.data or b"").decode(),
                }
            )
        found[name] = messages
    await connection.close()
    return found


if __name__ == "__main__":
    write(Path(sys.argv[1]))

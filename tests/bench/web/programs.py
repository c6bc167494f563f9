"""Runs the task of a case with each program."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.web.model import Case
from tests.bench.web.ours import run_ours
from tests.bench.web.serving import Served, serving
from tests.bench.web.verdicts import Outcome, Verdict, judge

from agentic.core.hooks import get_registry
from agentic.core.logging import configure_logging
from agentic.mappers import Database
from agentic.migrations import upgrade

PEERS = ("scrapy", "crawlee")
ALLOWED_S = 60
"""Longer than any task takes; a program that is still running then counts as crashed."""

NOISE = (
    "[scrapy.addons]",
    "[scrapy.crawler]",
    "[scrapy.middleware]",
    "[scrapy.statscollectors]",
    "[scrapy.utils.log]",
    "request statistics:",
    "option is enabled, but the crawler is not using",
)
"""Lines that every run writes: settings, parts and counts, without a word about a fault."""

_COLOUR = re.compile(r"\x1b\[\d+m")
_RECORD = re.compile(r"^(?=\d{4}-\d\d-\d\d \S+ \[|\[[\w.]+\] ?(?:INFO|WARN|ERROR|CRITICAL))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Programs:
    """This project on a database, and the peers in an environment of their own."""

    database: Database
    python: Path

    def verdicts(self, case: Case) -> dict[str, Verdict]:
        """Return the verdict on each program."""
        found = {}
        for name in ("agentic", *PEERS):
            with serving(case) as served:
                if name == "agentic":
                    outcome = asyncio.run(run_ours(case, served, self.database))
                else:
                    outcome = run_peer(self.python, name, case, served)
                found[name] = judge(case, outcome, served.asked)
        return found


@contextmanager
def programs(python: Path) -> Iterator[Programs]:
    """Prepare a database for the time of the block."""
    configure_logging("critical")
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder, 'bench.db')}"
        upgrade(url, get_registry())
        database = Database(url)
        try:
            yield Programs(database, python)
        finally:
            database.dispose()


def run_peer(python: Path, peer: str, case: Case, served: Served) -> Outcome:
    """Run the task of a case with a peer, each round in a process of its own."""
    places = [f"{name}={address}" for name, address in served.places.items()]
    said: list[str] = []
    with TemporaryDirectory() as folder:
        store = Path(folder, "rows.json")
        command = [str(python), "-m", f"tests.bench.web.peers.{peer}", case.name, str(store), *places]
        environment = {**os.environ, "CRAWLEE_STORAGE_DIR": folder}  # it makes a folder, even in memory
        for number in range(case.rounds):
            served.round = number
            try:
                done = subprocess.run(
                    command, env=environment, capture_output=True, text=True, check=False, timeout=ALLOWED_S
                )
            except subprocess.TimeoutExpired:
                return Outcome([], [], f"it was still running after {ALLOWED_S} s")
            if done.returncode:
                return Outcome([], [], done.stderr)
            said.append(done.stdout + done.stderr)
        rows = json.loads(store.read_text(encoding="utf-8"))
    return Outcome(list(rows.values()), reports_in("\n".join(said)))


def reports_in(log: str) -> list[str]:
    """Return the entries of a log that are not in every log."""
    entries = _RECORD.split(_COLOUR.sub("", log))
    return [entry for entry in entries if entry and not any(word in entry for word in NOISE)]

"""A poll whose process is killed is gone on with: no entry lost, none doubled."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.commands import start_command

from agentic.fakes.control import Fault
from agentic.fakes.feeds.entries import ENTRIES
from agentic.fakes.server import FakeServer

pytestmark = [pytest.mark.faults, pytest.mark.integration]


def agentic(home: Path, *arguments: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")}
    return start_command(arguments, {**kept, "AGENTIC_HOME": str(home)}, Path())


def done(home: Path, *arguments: str) -> str:
    with agentic(home, *arguments) as process:
        told, complaints = process.communicate()
    assert process.returncode == 0, complaints
    return told


async def test_a_poll_that_is_killed_is_gone_on_with_and_counted_once(
    tmp_path: Path, eventually: Callable[[Callable[[], bool]], Awaitable[None]]
) -> None:
    with FakeServer(stories=1, products=1) as fakes:

        def asked(name: str) -> int:
            counted = fakes.control.stats()["requests"]
            assert isinstance(counted, dict)
            return int(str(counted.get(f"/feeds/{name}", 0)))

        fakes.control.add(Fault(path="/feeds/podcast.xml", delay_s=600))
        config = tmp_path / "feeds.yaml"
        urls = [f"{fakes.feeds_url}{name}" for name in ("rss.xml", "podcast.xml")]
        config.write_text(json.dumps({"feeds": urls, "allow_private_hosts": ["127.0.0.1"]}), encoding="utf-8")
        done(tmp_path, "agents", "add", "blogs", "--platform", "feed", "--config", f"@{config}")

        with agentic(tmp_path, "run", "blogs") as first:  # killed between one answer and the other
            await eventually(lambda: asked("rss.xml") == asked("podcast.xml") == 1)
            first.kill()
        with sqlite3.connect(tmp_path / "agentic.db") as database:
            assert database.execute("select count(*) from feeds").fetchone() == (0,)
            assert database.execute("select count(*) from feed_entries").fetchone() == (0,)

        report = json.loads(done(tmp_path, "run", "blogs", "--resume", "--json"))

    assert (report["status"], report["counts"]["inserted"]) == ("succeeded", 2 * ENTRIES)
    assert (asked("rss.xml") <= 2, asked("podcast.xml")) == (True, 2)
    with sqlite3.connect(tmp_path / "agentic.db") as database:
        assert database.execute("select count(*) from feed_entries").fetchone() == (2 * ENTRIES,)
        assert (
            database.execute("select failures, next_poll_at > polled_at from feeds").fetchall()
            == [(0, 1)] * 2
        )

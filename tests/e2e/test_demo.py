"""The main job, as a newcomer sees it."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import psutil
import pytest
from tests.e2e.conftest import Agentic

from agentic.fakes.server import FakeServer

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


def left_running(home: Path) -> list[list[str]]:
    """Return the command lines that still mention the home of a test."""
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        environ = process.info["environ"] or {}
        line = process.info["cmdline"] or []
        if str(home) in " ".join(line) or environ.get("AGENTIC_HOME", "").startswith(str(home)):
            found.append(line)
    return found


@pytest.mark.requirement("BR05", "BR06", "PL44")
def test_demo_runs_both_agents_through_every_room_and_leaves_only_the_database(
    agentic: Agentic, home: Path
) -> None:
    first = agentic("demo")
    assert first.returncode == 0, first.stderr
    assert re.search(r"top-stories +succeeded +\d+ +\d+ +59 inserted", first.stdout)
    assert re.search(r"shop +succeeded +\d+ +\d+ +\d+ inserted", first.stdout)
    assert re.search(r"^items \(first 6 of 240\) *\n *\n +title +price ", first.stdout, re.MULTILINE)
    assert "hn_items (first 6 of 59)" in first.stdout
    assert re.search(
        r"^report +AGENTIC_HOME=\S+ agentic executions report \w+ --open", first.stdout, re.MULTILINE
    )
    events = int(re.search(r"(\d+) events on the stream AGENTIC_EVENTS", first.stdout)[1])  # type: ignore[index]
    assert events > 100
    assert left_running(home) == []

    path = home / "demo" / "agentic.db"
    assert str(path) in first.stdout
    with sqlite3.connect(path) as database:
        rows = {
            table: database.execute(f"select count(*) from {table}").fetchone()[0]
            for table in ("hn_items", "web_pages", "items", "executions", "agent_results")
        }
    assert rows["hn_items"] == 59
    assert rows["executions"] == rows["agent_results"] == 2
    assert rows["items"] == 240


@pytest.mark.slow
@pytest.mark.requirement("BR05", "BR06", "PL44")
def test_demo_that_runs_again_changes_no_row_and_adds_those_of_its_agents(
    agentic: Agentic, home: Path
) -> None:
    assert agentic("demo").returncode == 0
    second = agentic("demo", "--agents")
    assert re.search(r"labels +succeeded +\d+ +\d+ +240 inserted", second.stdout)
    assert re.search(r"top-stories +succeeded +\d+ +\d+ +59 unchanged", second.stdout)
    with sqlite3.connect(home / "demo" / "agentic.db") as database:
        assert database.execute("select count(*) from items").fetchone()[0] == 480


PIPELINE = """
name: shop-window
http: {{allow_private_hosts: ["127.0.0.1"]}}
error_handling:
  timeout: {{retry_count: 2}}
steps:
  - actor: fetch
    config: {{url: "{shop}"}}
  - actor: extract_list
    config: {{item_selector: "ul.featured a"}}
  - type: loop
    source: list_item_urls
    loop_steps:
      - actor: fetch
      - actor: extract_detail
        config: {{schema: {{title: "h1.title", price: {{selector: .price, type: number}}}}}}
  - actor: aggregate
    config: {{key: url}}
"""


def test_pipeline_file_runs_without_server_and_without_set_up(agentic: Agentic, tmp_path: Path) -> None:
    with FakeServer() as fakes:
        (tmp_path / "shop.yaml").write_text(PIPELINE.format(shop=fakes.shop_url), encoding="utf-8")
        first = agentic("run", "shop.yaml", "--json")
        assert first.returncode == 0, first.stderr
        again = json.loads(agentic("run", "shop.yaml", "--json").stdout)
    report = json.loads(first.stdout)
    stored = report["tables"]["items"]["total"]
    assert report["status"] == "succeeded"
    assert stored == report["counts"]["inserted"] > 0
    assert again["counts"]["unchanged"] == stored
    assert again["counts"]["inserted"] == again["counts"]["updated"] == 0

"""Requests through proxies as users see them: in the summary, the page, the report and the metrics."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.commands import invoke
from tests.forwarding import HOST, Forwarding, forwarding_beside

from agentic.core.cli.main import build_app
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

SPEC = """
name: lamps
http: {{proxies: ["${{secrets.EU}}"], max_connections_per_host: 4}}
steps:
  - type: crawl
    start: "{host}/shop/category/lamps"
    max_pages: 12
    follow: {{exclude: ["/shop/private/*"]}}
    detail: {{match: ["*/product/*"], config: {{schema: {{title: h1.title}}}}}}
error_handling: {{"*": {{retry_count: 5, backoff_s: 0.01}}}}
"""


@pytest.fixture
def site() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=30) as server:
        yield server


@pytest.fixture
def proxies(site: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Forwarding]]:
    """Two proxies that work; the list names a third one that does not exist."""
    with forwarding_beside(site.url, None, None) as found:
        lines = [f"127.0.0.1:{proxy.port}" for proxy in found]
        monkeypatch.setenv("AGENTIC_SECRET_DEFAULT__EU", "\n".join([*lines, "127.0.0.1:1"]))
        yield found


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_file: Path) -> None:
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    shutil.copy(first_file, tmp_path / "home" / "agentic.db")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    Path("lamps.yaml").write_text(SPEC.format(host=HOST), encoding="utf-8")


def agentic(*words: str) -> str:
    with capture_logs():
        result = invoke(build_app(), words)
    assert result.exception is None, result.exception
    return result.stdout


def newest() -> str:
    return str(json.loads(agentic("executions", "list", "--json"))[0]["id"])


def table(output: str) -> list[list[str]]:
    """Return the cells of the table of proxies."""
    lines = [line.split() for line in output.partition("\nProxies\n")[2].splitlines()]
    rows = [line for line in lines if line and line[0].isdigit()]
    return [[" ".join(row[:2]), row[2], *row[5:]] for row in rows]


def test_each_view_of_a_run_has_the_requests_that_each_proxy_got(proxies: list[Forwarding]) -> None:
    shown = agentic("run", "lamps.yaml")
    [first, second, third] = table(shown)
    assert [first[1], second[1]] == [str(len(proxy.heads)) for proxy in proxies]
    assert (first[2:], third[2:]) == ([], [third[1], "connect"])
    assert all(len(line) <= 80 for line in shown.partition("\nProxies\n")[2].splitlines()[:6])

    execution = newest()
    assert table(agentic("executions", "show", execution)) == [first, second, third]
    data = json.loads(agentic("executions", "show", execution, "--json"))["proxies"]
    assert [f"{one['proxy']} ({one['id']})" for one in data] == [first[0], second[0], third[0]]
    assert [str(one["requests"]) for one in data] == [first[1], second[1], third[1]]
    assert data[2]["failures"] == {"connect": int(third[1])}
    agentic("executions", "report", execution)
    report = Path("report.html").read_text(encoding="utf-8")
    assert all(f'<span class="mono">{row[0]}</span>' in report for row in (first, second, third))

    again: list[dict[str, Any]] = json.loads(agentic("run", "lamps.yaml", "--json"))["proxies"]
    counted = agentic("metrics", "--once")
    for one, other in zip(data, again, strict=True):
        labels = f'platform="web",project="default",proxy="{one["id"]}"'
        requests = one["requests"] + other["requests"]
        assert f"agentic_proxy_requests_total{{{labels}}} {requests:.1f}" in counted
    everything = f"{shown}{report}{counted}"
    assert not [proxy.port for proxy in proxies if f":{proxy.port}" in everything]


def test_a_run_without_proxies_shows_nothing_of_them(site: FakeServer) -> None:
    text = SPEC.format(host=site.url).replace(
        'proxies: ["${secrets.EU}"]', 'allow_private_hosts: ["127.0.0.1"]'
    )
    Path("lamps.yaml").write_text(text, encoding="utf-8")
    shown = agentic("run", "lamps.yaml")
    execution = newest()
    page, data = agentic("executions", "show", execution), agentic("executions", "show", execution, "--json")
    agentic("executions", "report", execution)
    assert "\nProxies" not in f"{shown}{page}"
    assert "proxy_uses" not in data
    assert "proxies" not in json.loads(data)
    assert 'id="proxies"' not in Path("report.html").read_text(encoding="utf-8")
    assert "agentic_proxy_requests_total{" not in agentic("metrics", "--once")

"""The packaged pipeline ``docs`` on a small site with the quirks of real ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from agentic.core.types import JSONValue
from agentic.mappers import Database, ExecutionStatus
from agentic.plugins.web.models import WebPageModel

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

PAGES = {
    "index.html": '<title>Start</title><a href="guide">guide</a> <a href="a.html#top">A</a>'
    '<a href="logo.png"></a> <a href="mailto:a@example.org">a</a> <a href="http://elsewhere.example/">b</a>',
    "a.html": '<title>\n A &amp; B </title><a href="index.html">up</a> <a href="a.html#end">end</a>',
    "guide/index.html": '<title>Guide</title><base href="chapters/"><a href="1.html"></a><a href=2.html></a>',
    "guide/chapters/1.html": '<h1>no title</h1><a href="../">guide</a>',
    "guide/chapters/2.html": '<title>Café</title><a href="missing.html">gone</a>',
    "logo.png": "not really a picture",
    "orphan.html": "<title>Nobody links here</title>",
}


class Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def docs(tmp_path: Path) -> Iterator[str]:
    for name, text in PAGES.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "site")))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def stored(database: Database) -> dict[str, str | None]:
    with database.reading() as session:
        pages = session.scalars(select(WebPageModel)).all()
    return {page.url.partition("/")[2].partition("/")[2].partition("/")[2]: page.title for page in pages}


async def test_every_page_links_lead_to_is_stored_once_with_its_title(
    docs: str, database: Database, make_agent: MakeAgent, run_agent: RunAgent, summary: Any
) -> None:
    agent = make_agent(pipeline="docs", inputs={"start_url": f"{docs}/index.html"})
    first = await run_agent(agent)
    assert first.status is ExecutionStatus.PARTIAL, first.error  # one link leads nowhere
    assert stored(database) == {
        "index.html": "Start",
        "a.html": "A & B",
        "guide/": "Guide",
        "guide/chapters/1.html": None,
        "guide/chapters/2.html": "Café",
        "logo.png": None,
    }
    assert summary(first)["failures"]["http_404"]["count"] == 1

    before = stored(database)
    second = await run_agent(agent)
    assert (second.counts.inserted, second.counts.updated) == (0, 0)
    assert stored(database) == before


async def test_what_the_agent_excludes_is_left_alone(
    docs: str, database: Database, make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    inputs: JSONValue = {"start_url": f"{docs}/index.html", "exclude": ["/guide*", "*.png"]}
    await run_agent(make_agent(pipeline="docs", inputs=inputs))
    assert set(stored(database)) == {"index.html", "a.html"}

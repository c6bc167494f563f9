"""Two workers that crawl one host keep one peace with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from agentic.core.types import JSONValue
from agentic.mappers import AgentModel, ExecutionStatus, add_agent, find_project

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place

pytestmark = pytest.mark.integration

PAGES = 80
PACE_S = 0.05
"""How long the site takes for a page, so that both workers have a share of them."""

REFUSED = (30, 55)
"""Which requests for pages are answered with 429, by their number."""

WINDOW_S = 2
UNDER_WAY_S = 0.5
"""What is sent by one worker before it can know what another was answered has come within so long."""

PARALLEL = 4


class Limited:
    """A site that now and then wants to be left alone, and counts who does not.

    Attributes:
        under_way: Requests that came just after a 429, and may have been sent before it.
        early: Requests that came later, inside the window.
        refused: How often it wanted to be left alone.
    """

    def __init__(self) -> None:
        self.under_way = self.early = self.refused = 0
        self._lock = Lock()
        self._count = 0
        self._refused_at = float(-WINDOW_S)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def is_refused(self) -> bool:
        """Note a request for a page that has come; tell whether it is one too many."""
        with self._lock:
            self._count += 1
            age_s = time.monotonic() - self._refused_at
            self.under_way += age_s < UNDER_WAY_S
            self.early += UNDER_WAY_S <= age_s < WINDOW_S
            return self._count in REFUSED

    def refuse(self) -> None:
        """Begin a window; the answer is sent next."""
        with self._lock:
            self.refused += 1
            self._refused_at = time.monotonic()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if not self.path.startswith("/page/"):
                    links = "".join(f"<a href=/page/{number}>{number}</a>" for number in range(PAGES))
                    return self.reply(200 if self.path == "/" else 404, links)
                is_refused = site.is_refused()
                time.sleep(PACE_S)
                if is_refused:
                    site.refuse()
                    return self.reply(429, "", {"Retry-After": str(WINDOW_S)})
                return self.reply(200, f"<title>{self.path}</title>")

            def reply(self, status: int, content: str, headers: dict[str, str] | None = None) -> None:
                self.send_response(status)
                for name, value in {"Content-Type": "text/html", **(headers or {})}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content.encode())

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        return Handler


@pytest.fixture
def site() -> Iterator[Limited]:
    made = Limited()
    yield made
    made.close()


def crawler(place: Place, url: str) -> AgentModel:
    """Add an agent that crawls in two slices at a time."""
    step: JSONValue = {
        "id": "site",
        "type": "crawl",
        "start": url,
        "slices": 2,
        "slice_pages": 10,
        "max_parallel": PARALLEL,
    }
    pipeline: JSONValue = {
        "http": {"allow_private_hosts": ["127.0.0.1"]},
        "error_handling": {"rate_limited": {"retry_count": 3}},
        "steps": [step],
    }
    with place.database.writing() as session:
        project = find_project(session, "default")
        return add_agent(session, project, "crawler", "web", {"pipeline": pipeline})


def test_no_worker_asks_a_host_inside_the_window_that_another_was_told(place: Place, site: Limited) -> None:
    for _ in range(2):
        place.start_worker("--concurrency", "1")
    found = place.ended(place.submit(crawler(place, f"{site.url}/")).id)

    assert (found.status, found.error) == (ExecutionStatus.SUCCEEDED, None)
    with place.database.reading() as session:
        states = session.execute(text("SELECT state, count(*) FROM frontier GROUP BY state")).all()
        workers = session.scalars(
            text("SELECT DISTINCT worker FROM activations WHERE executor_id = 'site'")
        ).all()
    assert [tuple(row) for row in states] == [("done", PAGES + 1)]
    assert {str(worker).partition("/")[0] for worker in workers} == {"w0@test", "w1@test"}
    assert site.refused == len(REFUSED)
    assert site.early == 0
    assert site.under_way <= (PARALLEL - 1) * len(REFUSED)

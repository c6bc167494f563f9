"""A crawl of a documentation site nobody here wrote, served on loopback."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.commands import run_command

SITE = Path("/usr/share/doc/postgresql-doc-15/html")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.e2e,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not SITE.is_dir(), reason="the Debian package postgresql-doc-15 is not installed"),
]

SPEC = """
name: manual
http: {{allow_private_hosts: ["127.0.0.1"]}}
steps:
  - id: pages
    type: crawl
    start: {start}
"""


class Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass


class Page:
    """Reads links and title by other means than the code under test."""

    def __init__(self, html: str) -> None:
        tree = LexborHTMLParser(html)
        self.links = [link for node in tree.css("a[href]") if (link := node.attributes["href"])]
        self.title = " ".join(tree.css("title")[0].text().split())


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def reachable(base: str) -> dict[str, str]:
    """Return URL -> title of every HTML page that links lead to from index.html, read from the folder."""
    found: dict[str, str] = {}
    waiting = [f"{base}/index.html"]
    while waiting:
        url = waiting.pop()
        path = SITE / unquote(urlsplit(url).path).lstrip("/")
        if url in found or urlsplit(url).netloc != urlsplit(base).netloc or not path.is_file():
            continue
        if path.suffix != ".html":
            continue
        page = Page(path.read_text(encoding="utf-8"))
        found[url] = page.title
        waiting += [urldefrag(urljoin(url, link)).url for link in page.links]
    return found


def crawl(spec: Path, home: Path) -> dict[str, object]:
    env = {**os.environ, "AGENTIC_HOME": str(home)}
    done = run_command(("run", str(spec), "--json"), env, home, timeout_s=600)
    assert done.returncode == 0, done.stderr
    report: dict[str, object] = json.loads(done.stdout)
    return report


def stored(home: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(home / "agentic.db") as database:
        return database.execute(
            "select url, title from web_pages where content_type = 'text/html' order by url"
        ).fetchall()


def test_every_page_links_lead_to_is_stored_once_and_a_second_crawl_changes_nothing(
    site: str, tmp_path: Path
) -> None:
    spec = tmp_path / "manual.yaml"
    spec.write_text(SPEC.format(start=f"{site}/index.html"), encoding="utf-8")
    expected = reachable(site)
    assert len(expected) > 1000

    crawl(spec, tmp_path)
    first = stored(tmp_path)
    assert [url for url, _ in first] == sorted(expected)
    assert dict(first) == expected

    counts = crawl(spec, tmp_path)["counts"]
    assert isinstance(counts, dict)
    assert (counts["inserted"], counts["updated"], counts["rejected"]) == (0, 0, 0)
    assert stored(tmp_path) == first

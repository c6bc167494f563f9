"""A crawl with files whose process is killed: each row has a whole file, none is missing, none is double."""

from __future__ import annotations

import csv
import hashlib
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import ClassVar

import pytest
from tests.commands import run_command, start_command
from tests.faults.plugins.test_killed_crawl import agentic, environment, query, shown_rows

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.timeout(180)]

PAGES = 40
PIECE = 16 * 1024
PIECES = 6
EXPECTED = {f"/file/{number}" for number in range(2 * PAGES)} | {"/logo"}

SPEC = """
name: files
http: {{allow_private_hosts: ["127.0.0.1"], requests_per_second: 1000, obey_robots: false}}
steps:
  - type: crawl
    start: "{start}"
    files: {{select: img, types: ["image/*"]}}
    max_parallel: 8
    commit_pages: 5
    slice_pages: 20
"""


def content_of(path: str) -> bytes:
    """Return the content of a file; that of every tenth is the same as of another."""
    number = int(path.rpartition("/")[2]) if path != "/logo" else -1
    seed = number - 1 if number % 10 == 9 else number
    return hashlib.sha256(str(seed).encode()).digest() * (PIECE * PIECES // 32)


class Slow(BaseHTTPRequestHandler):
    """Pages with images, which come in pieces."""

    protocol_version = "HTTP/1.1"
    requests: ClassVar[Counter[str]] = Counter()
    lock: ClassVar = Lock()

    def do_GET(self) -> None:
        with self.lock:
            self.requests[self.path] += 1
        if self.path.startswith("/file/") or self.path == "/logo":
            self._send("image/png", content_of(self.path))
        else:
            number = int(self.path.strip("/") or 0)
            links = "".join(f"<a href=/{other}>p</a>" for other in range(1, PAGES)) if number == 0 else ""
            images = f"<img src=/file/{2 * number}><img src=/file/{2 * number + 1}><img src=/logo>"
            self._send("text/html", f"<title>{number}</title>{links}{images}".encode())

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            for start in range(0, len(body), PIECE):
                self.wfile.write(body[start : start + PIECE])
                time.sleep(0.005)
        except ConnectionError:  # the crawl was killed
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    Slow.requests.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def kill_when_stored(home: Path, spec: Path, files: int) -> None:
    """Start or resume a crawl, and kill its process when so many files have rows."""
    crawl = start_command(["run", str(spec), "--resume"], environment(home), Path())
    deadline = time.monotonic() + 60
    while len(query(home, "select 1 from web_files")) < files:
        assert crawl.poll() is None, crawl.communicate()  # what it said
        assert time.monotonic() < deadline, "the crawl does not get on"
        time.sleep(0.01)
    crawl.send_signal(signal.SIGKILL)
    crawl.wait()


def rows_of(home: Path, site: str) -> dict[str, tuple[object, ...]]:
    found = query(home, "select url, path, sha256, size_bytes from web_files")
    assert len({url for url, *_ in found}) == len(found)
    return {str(url).removeprefix(site): tuple(rest) for url, *rest in found}


def assert_whole(home: Path, site: str) -> None:
    """Check that each row has a file, whole, and that each file that looks like one is whole."""
    for path, (place, sha256, size) in rows_of(home, site).items():
        content = (home / "files" / str(place)).read_bytes()
        assert content == content_of(path)
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (sha256, size)
    for stored in (home / "files").glob("*/downloads/*/*"):
        assert hashlib.sha256(stored.read_bytes()).hexdigest() == stored.stem


@pytest.mark.slow
@pytest.mark.parametrize("shares", [[0.4], [0.1, 0.4, 0.8]])
def test_a_killed_crawl_has_a_whole_file_for_each_row(
    tmp_path: Path, site: str, shares: Sequence[float]
) -> None:
    spec = tmp_path / "files.yaml"
    spec.write_text(SPEC.format(start=f"{site}/"), encoding="utf-8")
    home = tmp_path / "home"
    for share in shares:
        kill_when_stored(home, spec, int(share * len(EXPECTED)))
        assert len(rows_of(home, site)) < len(EXPECTED)
        assert_whole(home, site)
    report = agentic(home, "run", str(spec), "--resume", "--json")
    repeated = {path: count - 1 for path, count in Slow.requests.items() if path in EXPECTED and count > 1}
    whole = tmp_path / "whole"  # a crawl without kills
    undisturbed = agentic(whole, "run", str(spec), "--json")

    assert report["status"] == "succeeded"
    assert report["counts"] == undisturbed["counts"]
    assert set(rows_of(home, site)) == EXPECTED
    assert_whole(home, site)
    assert shown_rows(home) == PAGES + len(EXPECTED)
    stored = list((home / "files").glob("*/downloads/*/*"))
    assert len(stored) == len({content_of(path) for path in EXPECTED}) < len(EXPECTED)
    # Of the pages that were not written yet; the logo once for each process.
    assert repeated.pop("/logo", 0) <= len(shares)
    assert sum(repeated.values()) <= 2 * (5 + 4 * 8) * len(shares)

    [[execution]] = query(home, "select id from executions")
    out = tmp_path / "files.csv"
    done = run_command(
        ["executions", "export", str(execution), "--table", "web_files", "--out", str(out)],
        environment(home),
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    with out.open(encoding="utf-8", newline="") as file:
        exported = {row["url"].removeprefix(site): row["path"] for row in csv.DictReader(file)}
    assert exported == {path: place for path, (place, *_) in rows_of(home, site).items()}

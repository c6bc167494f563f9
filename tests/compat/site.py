"""A small site at a fixed address: what an older version stored names its pages."""

from __future__ import annotations

import atexit
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 27919
"""Below those that systems give to clients."""

# Keeps other tests, which ask for a free port, from taking this one: it is bound, and does not listen.
_held = socket.socket()
_held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
atexit.register(_held.close)
with suppress(OSError):
    _held.bind(("127.0.0.1", PORT))

URL = f"http://127.0.0.1:{PORT}"
PAGES = 30


class Site(ThreadingHTTPServer):
    """Pages that name each other; some do not answer while they are held back."""

    daemon_threads = True
    allow_reuse_port = True

    def __init__(self, held: frozenset[str]) -> None:
        super().__init__(("127.0.0.1", PORT), Handler)
        self.held = held
        self.reached = threading.Event()
        self.ending = threading.Event()
        self.asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    """Answers for a page."""

    server: Site  # pyright: ignore[reportIncompatibleVariableOverride]  # as the library means it
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer, or let the client wait."""
        self.server.asked.append(self.path)
        if self.path in self.server.held:
            self.server.reached.set()
            self.server.ending.wait()
            return
        found = page(self.path)
        body = (found or "gone").encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def page(path: str) -> str | None:
    """Return a page; each third has no price, and the last links lead nowhere."""
    if path == "/":
        links = "".join(f'<li><a class="item" href="/item/{number}">{number}</a></li>' for number in range(8))
        return f"<title>Start</title><ul>{links}</ul>"
    kind, _, number = path.removeprefix("/").partition("/")
    if kind != "item" or not number.isdigit() or int(number) >= PAGES:
        return None
    links = "".join(f'<a href="/item/{int(number) + step}">on</a>' for step in (5, 8))
    price = "" if int(number) % 3 == 2 else f'<b class="price">{number}.50</b>'
    return f"<title>Item {number}</title><h1>Item {number}</h1>{price}{links}"


@contextmanager
def site(*held: str) -> Iterator[Site]:
    """Serve the site; let clients who ask for a page of ``held`` wait."""
    server = Site(frozenset(held))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ending.set()
        server.shutdown()
        server.server_close()
        thread.join()

"""A server with responses set by a test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Site:
    """Serves on loopback inside a ``with`` block. All paths without a set response are not found.

    Attributes:
        requests: Path and query of each request, in order of arrival.
        headers: Headers of each request, with names in lower case.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self._answers: dict[str, _Answer] = {}
        self._faults: dict[str, list[_Answer]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def host(self) -> str:
        """Its address, for ``allow_private_hosts``: ``127.0.0.1:8000``."""
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        """Its root URL, without a slash at the end."""
        return f"http://{self.host}"

    def serve(
        self, path: str, content: object, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer requests for a path from now on.

        Args:
            path: ``/items.json`` for any query, ``/items.json?page=2`` for queries that contain this one.
                Of several matches, the one with the longest query answers.
            content: Text or bytes unchanged; anything else as JSON.
            status: Status of the response.
            headers: Besides ``Content-Type``, which depends on the content unless it is given.
        """
        self._answers[path] = _answer(content, status, headers)

    def fail(
        self,
        path: str,
        *,
        status: int,
        times: int = 1,
        content: object = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Answer the next requests for a path, with any query, with an error, and then as before."""
        self._faults.setdefault(path, []).extend([_answer(content, status, headers)] * times)

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.05,), name="site", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _next(self, target: str, headers: Mapping[str, str]) -> _Answer:
        self.requests.append(target)
        self.headers.append({name.lower(): value for name, value in headers.items()})
        path = urlsplit(target).path
        if self._faults.get(path):
            return self._faults[path].pop(0)
        fitting = [served for served in self._answers if _fits(served, target)]
        if not fitting:
            return _answer(f"nothing is served at {path}", 404, None)
        return self._answers[max(fitting, key=lambda served: len(_query(served)))]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                """Send the set response."""
                answer = site._next(self.path, dict(self.headers.items()))
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
                """Log nothing."""

        return Handler


def _fits(served: str, target: str) -> bool:
    return urlsplit(served).path == urlsplit(target).path and _query(served) <= _query(target)


def _query(target: str) -> set[tuple[str, str]]:
    return set(parse_qsl(urlsplit(target).query, keep_blank_values=True))


def _answer(content: object, status: int, headers: Mapping[str, str] | None) -> _Answer:
    match content:
        case bytes():
            body, kind = content, "application/octet-stream"
        case str():
            body, kind = content.encode(), "text/plain; charset=utf-8"
        case _:
            body, kind = json.dumps(content).encode(), "application/json"
    return _Answer(status, body, {"Content-Type": kind, **(headers or {})})

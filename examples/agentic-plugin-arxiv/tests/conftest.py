"""A library on loopback."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from threading import Thread
from urllib.parse import parse_qsl
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from library import Library


class Quiet(WSGIRequestHandler):
    """Tells nobody of requests."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def library() -> Iterator[Library]:
    """Give a library that listens."""
    fake = Library()

    def app(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        answer = fake.answer(environ["PATH_INFO"], dict(parse_qsl(environ["QUERY_STRING"])))
        headers = [("Content-Type", answer.content_type), *answer.headers.items()]
        start(f"{answer.status} {HTTPStatus(answer.status).phrase}", headers)
        return [answer.body.encode()]

    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        fake.host = f"127.0.0.1:{server.server_port}"
        fake.url = f"http://{fake.host}"
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield fake
        server.shutdown()

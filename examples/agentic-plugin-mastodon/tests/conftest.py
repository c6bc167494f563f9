"""An instance on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from threading import Thread
from urllib.parse import parse_qsl
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from instance import Instance


class Quiet(WSGIRequestHandler):
    """Tells nobody of requests."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def instance() -> Iterator[Instance]:
    """Give an instance that listens."""
    fake = Instance()

    def app(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        token = environ.get("HTTP_AUTHORIZATION", "").removeprefix("Bearer ") or None
        query = dict(parse_qsl(environ["QUERY_STRING"]))
        answer = fake.answer(environ["PATH_INFO"], query, token)
        headers = [("Content-Type", "application/json; charset=utf-8"), *answer.headers.items()]
        start(f"{answer.status} {HTTPStatus(answer.status).phrase}", headers)
        return [json.dumps(answer.content).encode()]

    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        fake.host = f"127.0.0.1:{server.server_port}"
        fake.url = f"http://{fake.host}"
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield fake
        server.shutdown()

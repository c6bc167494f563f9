"""A library on loopback, with faults to inject."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from agentic.fakes.app import under_control
from agentic.fakes.control import Control
from agentic.fakes.server import LoopbackServer
from library import Library
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send


@pytest.fixture
def library() -> Iterator[Library]:
    """Give a library that listens."""
    control = Control()
    fake = Library(control=control)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        answer = fake.answer(request.url.path, dict(request.query_params))
        headers = {"Content-Type": answer.content_type, **answer.headers}
        await Response(answer.body, answer.status, headers)(scope, receive, send)

    with LoopbackServer(under_control(app, control), control) as server:
        fake.host, fake.url = f"{server.host}:{server.port}", server.url
        yield fake

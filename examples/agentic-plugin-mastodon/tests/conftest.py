"""An instance on loopback, with faults to inject and a clock to move on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from agentic.fakes.app import under_control
from agentic.fakes.control import Control
from agentic.fakes.server import LoopbackServer
from instance import Instance
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send


@pytest.fixture
def instance() -> Iterator[Instance]:
    """Give an instance that listens."""
    control = Control()
    fake = Instance(control=control)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        token = request.headers.get("authorization", "").removeprefix("Bearer ") or None
        answer = fake.answer(request.url.path, dict(request.query_params), token)
        await JSONResponse(answer.content, answer.status, answer.headers)(scope, receive, send)

    with LoopbackServer(under_control(app, control), control) as server:
        fake.host, fake.url = f"{server.host}:{server.port}", server.url
        yield fake

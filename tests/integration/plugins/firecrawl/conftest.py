"""Firecrawl as the fakes have it, a service that answers what a test says, and actors that ask them."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from agentic.core.actors import ActorContext, UnknownSecretError
from agentic.core.hooks import get_registry
from agentic.core.http import HttpPolicy, open_fetcher
from agentic.core.types import JSONValue
from agentic.executors.agents.files import FolderFiles
from agentic.fakes.server import FakeServer

pytest.importorskip("firecrawl")

Act = Callable[..., Awaitable[Any]]


@dataclass
class Secrets:
    """Secrets of a project."""

    stored: dict[str, str] = field(default_factory=dict)

    async def secret(self, name: str) -> SecretStr:
        if name not in self.stored:
            raise UnknownSecretError(name)
        return SecretStr(self.stored[name])


@dataclass(frozen=True)
class Asked:
    """A request that came to the service."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class ScriptedService:
    """A service that answers with whatever ``answer`` makes of a request, and keeps what it was asked."""

    answer: Callable[[Asked], web.Response] = lambda _: web.json_response({"success": True, "data": {}})
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    async def handle(self, request: web.Request) -> web.Response:
        text = await request.text()
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = Asked(request.method, request.path, headers, json.loads(text) if text else None)
        self.asked.append(asked)
        return self.answer(asked)

    def gives(self, document: dict[str, JSONValue]) -> None:
        """Answer every scrape with this document."""
        self.answer = lambda _: web.json_response({"success": True, "data": document})


@pytest.fixture(scope="session", autouse=True)
def certificates() -> Iterator[None]:
    """Read the certificates once: for each client of the library that takes longer than a call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


@pytest.fixture(scope="session")
def served() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=60) as server:
        yield server


@pytest.fixture
def fakes(served: FakeServer) -> FakeServer:
    served.control.reset()
    return served


@pytest.fixture
async def service() -> AsyncIterator[ScriptedService]:
    scripted = ScriptedService()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", scripted.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    scripted.url = f"http://{host}:{port}"
    yield scripted
    await runner.cleanup()


@pytest.fixture
def secrets() -> Secrets:
    return Secrets()


@pytest.fixture
async def ctx(secrets: Secrets, tmp_path: Path) -> AsyncIterator[ActorContext]:
    policy = HttpPolicy(allow_private_hosts=("127.0.0.1",))
    async with open_fetcher(policy) as fetcher:
        yield ActorContext(http=fetcher, secrets=secrets, files=FolderFiles(tmp_path, "run"))


@pytest.fixture
def act(ctx: ActorContext, fakes: FakeServer) -> Act:
    """Run an actor by its name, at the fakes' Firecrawl unless told otherwise."""

    async def act(name: str, *, context: ActorContext = ctx, **given: Any) -> Any:
        actor = get_registry().actors[name]
        service = {"api_url": fakes.firecrawl_url} if "api_url" in actor.Input.model_fields else {}
        config = {**service, **given}
        return await actor().run(context, actor.Input.model_validate(config))

    return act


class Remembering:
    """``ActorContext.once`` as a ledger keeps it: also for the calls that follow."""

    def __init__(self) -> None:
        self.kept: dict[str, JSONValue] = {}

    async def __call__(self, name: str, work: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        if name not in self.kept:
            self.kept[name] = await work()
        return self.kept[name]


@pytest.fixture
def remembering(ctx: ActorContext) -> ActorContext:
    """A context that remembers what was done once."""
    return replace(ctx, once=Remembering(), call="run/step")

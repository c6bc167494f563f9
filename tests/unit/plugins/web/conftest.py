"""Pages, and an actor's run without a network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from agentic.core.actors import Actor, ActorContext, Page
from agentic.core.http import Fetcher, HttpPolicy, HttpRequest, HttpResponse


class NoNetwork:
    """A transport for actors that fetch nothing."""

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        raise AssertionError(f"{request.url} was asked for")


@pytest.fixture
def page() -> Callable[..., Page]:
    def make(html: str, url: str = "http://shop.example/list/", content_type: str = "text/html") -> Page:
        return Page(
            url=url,
            final_url=url,
            status=200,
            content_type=content_type,
            text=html,
            content_hash="",
            fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
        )

    return make


@pytest.fixture
def act() -> Callable[..., Awaitable[Any]]:
    """Run an actor with a config, as a step would."""

    async def act(actor: type[Actor], **config: object) -> BaseModel:
        context = ActorContext(http=Fetcher(HttpPolicy(), NoNetwork()))
        output = await actor().run(context, actor.Input.model_validate(config))
        assert isinstance(output, BaseModel)
        return output

    return act

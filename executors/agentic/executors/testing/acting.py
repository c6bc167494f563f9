"""Calls single actors, directly and as a step of a pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import cast

from agentic.core.actors import Actor, ActorContext
from agentic.core.actors.stores import MemoryOfProcess, MemorySessions
from agentic.core.graph import RunResult, Workflow
from agentic.core.hooks import get_registry
from agentic.core.http import Fetcher, FetchError, HttpRequest, HttpResponse
from agentic.core.pipeline import (
    CrawlStore,
    PipelineResult,
    PipelineServices,
    PipelineSpec,
    compile_pipeline,
)
from agentic.core.types import JSONValue, RunId


class Silent:
    """A transport whose servers accept a request, but never answer.

    Attributes:
        asked: Set with the first request.
    """

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:  # noqa: ARG002 - the port's
        """Wait forever."""
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError(request.url)


class Refusing:
    """A transport on which every request fails, always for the same reason.

    Args:
        failure_class: The reason; for a family like ``http_4xx`` it returns one status of it.
    """

    def __init__(self, failure_class: str) -> None:
        self._failure_class = failure_class.replace("xx", "18")

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:  # noqa: ARG002 - the port's
        """Fail."""
        raise FetchError(request.url, self._failure_class, "no request is answered here")


class Remembering:
    """``ActorContext.once`` for calls that are repeated until an actor has ended."""

    def __init__(self) -> None:
        self._kept: dict[str, JSONValue] = {}

    async def __call__(self, name: str, work: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        """Do the work the first time."""
        if name not in self._kept:
            self._kept[name] = await work()
        return self._kept[name]


def alone(ctx: ActorContext, http: Fetcher | None = None) -> ActorContext:
    """Return a context for one call: like ``ctx``, but with its own memory and sessions."""
    return replace(
        ctx,
        http=http or ctx.http,
        memory=MemoryOfProcess(),
        sessions=MemorySessions(),
        once=Remembering(),
        call="tested",
    )


def outcome_workflow(actor: type[Actor], given: Mapping[str, JSONValue], ctx: ActorContext) -> Workflow:
    """Return a pipeline of one call, whose single item is the actor's output."""
    spec = PipelineSpec.model_validate(
        {
            "name": "tested",
            "steps": [
                {"actor": actor.name, "config": dict(given), "save_as": "outcome"},
                {"actor": "aggregate", "config": {"items": ["${outcome}"]}},
            ],
        }
    )
    services = PipelineServices(frontier=_no_crawl, context=lambda _: ctx)
    return compile_pipeline(spec, get_registry().actors, services)


def output_of(run: RunResult) -> dict[str, JSONValue]:
    """Return the actor's output from a run of :func:`outcome_workflow`."""
    assert run.error is None, run.error
    (item,) = PipelineResult.model_validate(run.output(dict)).items
    return item


def without(value: Mapping[str, JSONValue], places: Collection[str]) -> dict[str, JSONValue]:
    """Return ``value`` without the members at these places, such as ``"page.fetched_at"``."""
    kept = {name: part for name, part in value.items() if name not in places}
    for name, part in kept.items():
        if isinstance(part, dict):
            inner = [place.removeprefix(f"{name}.") for place in places if place.startswith(f"{name}.")]
            kept[name] = cast(JSONValue, without(part, inner))
    return kept


def _no_crawl(run_id: RunId) -> CrawlStore:
    raise AssertionError(f"{run_id} has no crawl")

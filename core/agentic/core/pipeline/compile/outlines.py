"""A pipeline's workflow for viewing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

from agentic.core.actors import Actor, ActorContext, PipelineError
from agentic.core.graph import Workflow
from agentic.core.http import Fetcher, HttpRequest
from agentic.core.pipeline.compile.compiler import PipelineServices, compile_pipeline
from agentic.core.pipeline.crawl.store import FrontierEntry, FrontierLink, SliceId
from agentic.core.pipeline.spec.spec import PipelineSpec


def outline(spec: PipelineSpec, actors: Mapping[str, type[Actor]]) -> Workflow:
    """Return the compiled workflow of a pipeline, for drawing or description; it cannot run.

    Args:
        spec: The pipeline.
        actors: Name or alias -> actor.

    Raises:
        SpecError: The spec does not fit the actors; every fault is listed.
    """
    outside = _NoOutside(spec.name)
    context = ActorContext(http=Fetcher(spec.http, outside))
    services = PipelineServices(frontier=lambda _: outside, context=lambda _: context)
    return compile_pipeline(spec, actors, services)


class _NoOutside:
    """Replaces a transport and a frontier: its error says why it is missing."""

    def __init__(self, pipeline: str) -> None:
        self._pipeline = pipeline

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> NoReturn:  # noqa: ARG002 - the port's
        self._refuse()

    async def seed(self, urls: Sequence[FrontierLink]) -> NoReturn:  # noqa: ARG002 - the port's
        self._refuse()

    async def begin(self, slice_id: SliceId) -> NoReturn:  # noqa: ARG002 - the port's
        self._refuse()

    async def exchange(self, *_: object, **__: object) -> NoReturn:
        self._refuse()

    async def give_back(self, slice_id: SliceId, entries: Sequence[FrontierEntry]) -> NoReturn:  # noqa: ARG002 - the port's
        self._refuse()

    async def stored_page(self, key: str) -> NoReturn:  # noqa: ARG002 - the port's
        self._refuse()

    async def failures(self, examples: int) -> NoReturn:  # noqa: ARG002 - the port's
        self._refuse()

    async def warnings(self) -> NoReturn:
        self._refuse()

    async def proxies(self) -> NoReturn:
        self._refuse()

    async def looks(self) -> NoReturn:
        self._refuse()

    async def incidents(self) -> NoReturn:
        self._refuse()

    async def release(self, *, is_accepted: bool, repaired: Collection[str] = ()) -> NoReturn:  # noqa: ARG002 - the port's
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise PipelineError(
            f"this is an outline of pipeline {self._pipeline!r}; run the result of compile_pipeline"
        )

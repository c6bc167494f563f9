"""A run keeps the requests of its steps through proxies, in whatever way a step ends."""

from __future__ import annotations

from pydantic import BaseModel
from tests.unit.core.http.exits.test_pool import World
from tests.unit.core.pipeline.conftest import MemoryFrontier

from agentic.core.actors import Actor, ActorContext, ActorError, Again
from agentic.core.pipeline import PipelineResult, PipelineServices, compile_pipeline, parse_spec


class OrderInput(BaseModel):
    """How many calls wait, and whether the last one fails."""

    waits: int = 0
    fails: bool = False


class OrderOutput(BaseModel):
    """The number of calls."""

    calls: int


class OrderActor(Actor[OrderInput, OrderOutput]):
    """Sends one request for each call."""

    name = "order"
    version = "1"
    Input = OrderInput
    Output = OrderOutput
    may_wait = True

    calls = 0

    async def run(self, ctx: ActorContext, given: OrderInput, /) -> OrderOutput | Again:
        type(self).calls += 1
        await ctx.http.fetch("http://h.example/")
        if self.calls <= given.waits:
            return Again(after_s=0.0)
        if given.fails:
            raise ActorError("sold out", failure_class="gone")
        return OrderOutput(calls=self.calls)


async def counted(world: World, steps: str) -> PipelineResult:
    """Run steps through two proxies; return the result."""
    OrderActor.calls = 0
    fetcher, _ = world.fetcher("ab")
    actors: dict[str, type[Actor]] = {"order": OrderActor}
    frontier = MemoryFrontier()
    services = PipelineServices(frontier=lambda _: frontier, context=lambda _: ActorContext(http=fetcher))
    workflow = compile_pipeline(
        parse_spec(
            f"name: orders\ninputs: {{wanted: {{type: boolean, default: false}}}}\nsteps: {steps}", actors
        ),
        actors,
        services,
    )
    done = await workflow.run({})
    return PipelineResult.model_validate(done.output(dict))


async def test_requests_of_calls_that_wait_are_counted() -> None:
    result = await counted(World(), "[{actor: order, config: {waits: 3}}]")
    assert [(use.proxy, use.requests, use.received_bytes) for use in result.proxy_uses] == [
        (1, 2, 2),
        (2, 2, 2),
    ]


async def test_requests_of_a_step_that_failed_are_counted() -> None:
    step = "{actor: order, config: {waits: 1, fails: true}, error_handling: {gone: {then: skip}}}"
    result = await counted(World(), f"[{step}]")
    assert result.skipped == ("order",) or result.failed_items
    assert sum(use.requests for use in result.proxy_uses) == 2


async def test_a_result_without_requests_through_proxies_does_not_mention_them() -> None:
    world = World()
    result = await counted(world, "[{actor: order, when: inputs.wanted}]")
    assert world.sent == []
    assert "proxy_uses" not in result.model_dump(mode="json")

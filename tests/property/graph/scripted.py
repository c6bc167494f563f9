"""Executors that do what a script says, and the workflows made of them."""

from __future__ import annotations

import asyncio
import operator
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from zlib import crc32

from tests.property.graph.mail import (
    FlawError,
    Note,
    Slip,
    digest,
    gist,
    holds,
    hops_of,
    scribble_on,
    share_of,
)
from tests.property.graph.shapes import (
    Direct,
    FanIn,
    FanOut,
    Link,
    MapOver,
    Node,
    Retry,
    Rule,
    Script,
    Shape,
    Switch,
    ends_of,
)
from tests.property.graph.world import Entry, world_now

from agentic.core import (
    Case,
    Default,
    Executor,
    RetryPolicy,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.graph import ExecutorFailure, GraphWarning, RequestExpiredError
from agentic.core.graph.definition.edges import Condition
from agentic.core.graph.model.progress import FailedAttempt

AT_ONCE = timedelta(0)


class Scripted(Executor):
    """Does what its script says."""

    def __init__(self, id: str, script: Script, hops: int, ends: Sequence[str]) -> None:
        tries = RetryPolicy(max_attempts=script.attempts, first_delay_s=1, jitter=0)
        super().__init__(
            id, max_parallel=script.lanes, retry=tries if script.attempts > 1 else None, timeout_s=60
        )
        self.script = script
        self.hops = hops
        self.ends = tuple(ends)

    async def follow(self, message: object, ctx: WorkflowContext) -> object:
        """Follow the script."""
        script, world = self.script, world_now()
        seen, hops = gist(message), hops_of(message)
        feedback = tuple(gist(said) for said in ctx.previous_errors if not isinstance(said, FailedAttempt))
        entry = Entry(
            ctx.idempotency_key, self.id, ctx.superstep, ctx.attempt, tuple(ctx.source_ids), seen, feedback
        )
        scribble_on(message)
        await world.enter(entry)
        if hops <= self.hops and self._is_flawed(seen, ctx.attempt):
            raise FlawError(f"{hops + 1}|{seen[-60:]}")
        parts = [self.id, seen, *feedback, *await self._ask(seen, ctx)]
        if script.remembers:
            parts.append(await ctx.once("key", lambda: world.do_once(entry)))
        parts += self._remember(ctx, digest(parts))
        await world.wait(entry, "before sending")
        await self._give(digest(parts), hops + 1, ctx)
        await world.wait(entry, "before returning")
        world.leave(entry)
        return self._note(f"{digest(parts)}r", hops + 1) if script.returns and hops < self.hops else None

    def _is_flawed(self, seen: str, attempt: int) -> bool:
        breaks = self.script.breaks
        return attempt <= self.script.failures or (breaks > 0 and crc32(seen.encode()) % breaks == 0)

    async def _ask(self, seen: str, ctx: WorkflowContext) -> list[str]:
        if self.script.asks_some and crc32(seen.encode()) % 2:
            return []
        questions = [f"{seen[-30:]}?{number}" for number in range(self.script.asks)]
        if len(questions) > 1 and self.script.way == "gather":
            return await asyncio.gather(*(self._ask_one(n, q, ctx) for n, q in enumerate(questions)))
        if len(questions) > 1 and self.script.way == "group":
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._ask_one(n, q, ctx)) for n, q in enumerate(questions)]
            return [task.result() for task in tasks]
        return [await self._ask_one(n, q, ctx) for n, q in enumerate(questions)]

    async def _ask_one(self, number: int, question: str, ctx: WorkflowContext) -> str:
        deadline = AT_ONCE if self.script.expires and number == 0 else None
        try:
            return await ctx.request_info(question, str, deadline=deadline)
        except RequestExpiredError:
            return "no answer"

    def _remember(self, ctx: WorkflowContext, word: str) -> list[str]:
        """Write to the run's state; return what is to be known of it."""
        parts: list[str] = []
        if self.script.counts:
            count = int(str(ctx.local.get("count", 0))) + 1
            ctx.local["count"] = count
            parts.append(str(count))
        for key in self.script.writes:
            if key == "clash" and self._has_mended(ctx):
                continue
            value = crc32(word.encode()) % 100 if key == "sum" else Note(word) if key == "own" else word
            ctx.set_state(f"own.{self.id}" if key == "own" else key, value)
        if self.script.reads:
            parts += [str(ctx.get_state("sum")), str(ctx.get_state("chain")), gist(ctx.get_state("own.n0"))]
        return parts

    async def _give(self, word: str, hops: int, ctx: WorkflowContext) -> None:
        if hops > self.hops + 1:
            return
        for number in range(self.script.yields):
            await ctx.yield_output(self._note(f"{self.id}:{word}{number}", hops))
        if hops > self.hops:
            return
        if self.script.splits:
            items = [self._note(f"{word}i{number}", hops) for number in range(crc32(word.encode()) % 6)]
            await ctx.send_message(items)
            scribble_on(items)
            return
        for number in range(self.script.sends if hops < 3 else min(1, self.script.sends)):
            message = self._note(f"{word}{number}", hops)
            await ctx.send_message(message, self._aim(message, ctx))
            scribble_on(message)

    def _has_mended(self, ctx: WorkflowContext) -> bool:
        """Whether its code was corrected, as a barrier refused what it did."""
        return self.script.mends and any(
            failed.error_type in {"StateConflictError", "UndeliverableMessageError"}
            for failed in ctx.previous_attempts
        )

    def _aim(self, message: Note | Slip, ctx: WorkflowContext) -> str | None:
        if self.script.strays and not self._has_mended(ctx) and share_of(message, 3, "stray") == 0:
            return "nobody"
        if self.script.aims and self.ends:
            return self.ends[share_of(message, len(self.ends), "aim")]
        return None

    def _note(self, text: str, hops: int) -> Note | Slip:
        return Slip(text, hops) if self.script.is_frozen else Note(text, hops)


class Actor(Scripted):
    """Takes every message."""

    @handler
    async def act(self, message: Note | Slip | ExecutorFailure | list[Any], ctx: WorkflowContext) -> object:
        return await self.follow(message, ctx)


class PickyActor(Scripted):
    """Takes no message that cannot be changed."""

    @handler
    async def act(self, message: Note | ExecutorFailure | list[Any], ctx: WorkflowContext) -> object:
        return await self.follow(message, ctx)


def build(shape: Shape, id: str = "random") -> Workflow:
    """Return the workflow of a shape."""
    config = WorkflowConfig(
        max_supersteps=shape.supersteps,
        strict=shape.is_strict,
        max_parallel=shape.max_parallel,
        retry=RetryPolicy(max_attempts=shape.attempts, first_delay_s=1, jitter=0),
    )
    builder = WorkflowBuilder(id, shape.version, config).set_start(*shape.starts)
    for node in shape.nodes:
        builder.add_executor(_executor(shape, node))
    for link in shape.links:
        _connect(builder, link)
    builder.add_state("sum", reducer=operator.add).add_state("chain", reducer=_chained)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)  # hops end every loop
        return builder.build()


def _executor(shape: Shape, node: Node) -> Executor:
    if node.inner is not None:
        return build(node.inner, f"in {node.id}").as_executor(node.id)
    if node.script.is_plain:
        return _plain(node.id, shape.hops)
    kind = PickyActor if node.script.is_picky else Actor
    return kind(
        node.id, node.script, shape.hops, [end for link in shape.links for end in ends_of(link, node.id)]
    )


def _plain(id: str, limit: int) -> Executor:
    @executor(id=id)
    def passes_on(message: Note | Slip | ExecutorFailure | list[Any]) -> object:
        hops = hops_of(message) + 1
        return Note(digest([id, gist(message)]), hops) if hops <= limit else None

    return passes_on


def _connect(builder: WorkflowBuilder, link: Link) -> None:
    match link:
        case Direct():
            condition = None if link.rule is None else _condition(link.rule)
            builder.add_edge(link.source, link.target, condition, on=link.on)
        case Switch():
            cases = [Case(_condition(rule), target) for rule, target in link.cases]
            builder.add_switch_edge(link.source, [*cases, Default(link.default)], on=link.on)
        case FanOut():
            select = _selected if link.selects else None
            builder.add_fan_out_edge(link.source, link.targets, select=select, on=link.on)
        case FanIn():
            builder.add_fan_in_edge(link.sources, link.target, mode=link.mode, on=link.on)
        case MapOver():
            builder.add_map_edge(
                link.source, link.body, link.join,
                max_parallel=link.lanes, window=link.window, on_item_error=link.on_item_error,
            )  # fmt: skip
        case Retry():
            builder.add_retry_edge(
                link.source, link.target, when=_condition(link.rule),
                max_passes=link.max_passes, exhausted=link.exhausted, payload=link.payload,
            )  # fmt: skip


def _condition(rule: Rule) -> Condition:
    async def waits(message: object) -> bool:
        await world_now().think(message)
        return holds(rule, message)

    return waits if rule.is_async else lambda message: holds(rule, message)


def _selected(message: object, targets: Sequence[str]) -> list[str]:
    return [target for target in targets if share_of(message, 3, target)]


def _chained(so_far: str, written: str) -> str:
    return digest([so_far, written])

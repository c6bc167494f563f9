"""A graph of LangGraph as an executor of our graphs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import RunControl
from langgraph.types import Command, Durability, StateSnapshot
from pydantic import BaseModel, ConfigDict, JsonValue

from agentic.core.agents.executor import AgentExecutorResponse
from agentic.core.graph import CrashPolicy, Executor, RetryPolicy, WorkflowContext, handler
from agentic.core.llm.messages import ChatMessage
from agentic.core.logging import get_logger
from agentic.core.threads import in_thread
from agentic.plugins.langgraph.errors import ThreadTakenError
from agentic.plugins.langgraph.running.graphs import Graph, is_named, made, prepared
from agentic.plugins.langgraph.running.requests import Questions
from agentic.plugins.langgraph.running.streaming import MODES, events_of, is_step_of
from agentic.plugins.langgraph.running.values import input_of, last_text, values_of
from agentic.plugins.langgraph.savers.serializer import StateType

log = get_logger(__name__)

TURN = "agentic_turn"
"""In the metadata of checkpoints: the activation that made them."""

EDITS = ("update", "fork")
"""Sources of checkpoints that no run has made."""

TRIES = RetryPolicy(max_attempts=4, first_delay_s=1.0, retry_on=(ThreadTakenError,))
"""While another run is in the thread. Nodes are retried by the policies of the graph."""

CRASHES = CrashPolicy(max_crashes=10)
"""More than for other executors: one activation is a whole graph, and its steps are stored."""

DRAIN_S = 5.0
"""How long the nodes at work may take to end when their worker stops; it abandons them after 8 s."""


class LangGraphResult(BaseModel):
    """The message that a graph of LangGraph sends on.

    Attributes:
        executor_id: The executor.
        thread_id: The thread that has the state.
        turn: The input in it.
        values: The state at the end, as JSON.
        text: The last message of a model in it, or "".
        steps: The number of the last superstep.
    """

    __wire_name__ = "agentic.langgraph.LangGraphResult"

    model_config = ConfigDict(extra="forbid", frozen=True)

    executor_id: str
    thread_id: str
    turn: str
    values: dict[str, JsonValue]
    text: str = ""
    steps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions:
    """How a graph runs.

    Attributes:
        thread: ``new`` for a thread of each message, ``run`` for one of all messages of a run, else its id.
        history: Checkpoints that stay when a message is handled: ``all``, or only the ``latest``.
        durability: When LangGraph stores a checkpoint: before the next step, beside it, or at the end only.
        recursion_limit: Maximum number of supersteps for a message.
        max_concurrency: Maximum number of nodes at a time.
        configurable: Given to the nodes as ``config["configurable"]``.
        context: Given to the nodes as ``runtime.context``.
        answer_s: Seconds until an unanswered question fails the activation.
        types: Types of the state, besides those in the schemas of the graph.
    """

    thread: str = "new"
    history: Literal["all", "latest"] = "all"
    durability: Durability = "sync"
    recursion_limit: int = 10_000
    max_concurrency: int | None = None
    configurable: Mapping[str, object] | None = None
    context: object = None
    answer_s: float | None = None
    types: Collection[StateType] = ()


class LangGraphExecutor(Executor):
    """Runs a graph of LangGraph for each message: a text, messages, or a mapping with its input.

    The graph continues where its thread is. When a worker dies, the next one repeats the nodes that had not
    ended, and no other; ``interrupt()`` is a request of the run; parts of its stream are live events.

    Args:
        graph: A compiled graph, a ``StateGraph``, or a function that makes one, called at the first message.
        id: Of the node.
        saver: Keeps its threads, for example :class:`SqlSaver`. By default they are in memory, and lost with
            the process.
        options: How it runs.
        is_active: Whether another run, by its id, may still continue a thread that it has left in the middle;
            blocks. By default it may, and the thread is refused.
        retry: How often a failing activation is tried.
        timeout_s: Seconds one try may take.
    """

    crash = CRASHES

    def __init__(  # noqa: PLR0913  # options of a node, all optional
        self,
        graph: object,
        *,
        id: str = "graph",  # noqa: A002  # as of every executor
        saver: BaseCheckpointSaver[Any] | None = None,
        options: GraphOptions | None = None,
        is_active: Callable[[str], bool] | None = None,
        retry: RetryPolicy | None = None,
        timeout_s: float | None = None,
    ) -> None:
        super().__init__(id, retry=retry or TRIES, timeout_s=timeout_s)
        self.options = options or GraphOptions()
        self._source = graph
        self._saver: BaseCheckpointSaver[Any] = InMemorySaver() if saver is None else saver
        self._forgets = (
            saver is None and self.options.thread == "new"
        )  # else memory would grow with each message
        self._is_active = is_active
        self._graph: Graph | None = None

    @handler
    async def on_text(self, text: str, ctx: WorkflowContext[Any, Any]) -> LangGraphResult:
        """Run the graph for a text."""
        return await self._handle(text, ctx)

    @handler
    async def on_message(self, message: ChatMessage, ctx: WorkflowContext[Any, Any]) -> LangGraphResult:
        """Run the graph for a message."""
        return await self._handle(message, ctx)

    @handler
    async def on_messages(
        self, messages: list[ChatMessage], ctx: WorkflowContext[Any, Any]
    ) -> LangGraphResult:
        """Run the graph for a conversation."""
        return await self._handle(messages, ctx)

    @handler
    async def on_response(
        self, response: AgentExecutorResponse, ctx: WorkflowContext[Any, Any]
    ) -> LangGraphResult:
        """Run the graph for the conversation of an agent."""
        return await self._handle(list(response.full_conversation), ctx)

    @handler
    async def on_result(self, result: LangGraphResult, ctx: WorkflowContext[Any, Any]) -> LangGraphResult:
        """Run the graph for the state of another one."""
        return await self._handle(dict(result.values), ctx)

    @handler
    async def on_values(
        self, values: dict[str, JsonValue], ctx: WorkflowContext[Any, Any]
    ) -> LangGraphResult:
        """Run the graph for its input."""
        return await self._handle(values, ctx)

    async def graph(self) -> Graph:
        """Return the graph, ready to run."""
        if self._graph is None:
            found = await in_thread(made, self.id, self._source)
            self._graph = prepared(found, self._saver, self.options.types)
        return self._graph

    async def _handle(self, given: object, ctx: WorkflowContext[Any, Any]) -> LangGraphResult:
        run = _GraphRun(await self.graph(), self, ctx)
        result = await run.result(given)
        if self._forgets:
            await self._saver.adelete_thread(result.thread_id)
        elif self.options.history == "latest":
            await self._saver.aprune([result.thread_id])
        return result

    async def may_continue(self, run_id: str) -> bool:
        """Whether another run may still continue its work in a thread."""
        return True if self._is_active is None else await in_thread(self._is_active, run_id)


class _GraphRun:
    """A graph at work for one activation. Only the state in the thread decides about the next step."""

    def __init__(self, graph: Graph, node: LangGraphExecutor, ctx: WorkflowContext[Any, Any]) -> None:
        options = node.options
        names = {"new": ctx.idempotency_key, "run": f"{ctx.run_id}:{node.id}"}
        self._graph = graph
        self._node = node
        self._ctx = ctx
        self._options = options
        self._thread_id = names.get(options.thread, options.thread)
        self._turn = ctx.idempotency_key
        self._questions = Questions(ctx, options.answer_s)
        self._steps = 0
        self._config: Any = {
            "configurable": {**(options.configurable or {}), "thread_id": self._thread_id},
            "metadata": {TURN: self._turn, "run_id": str(ctx.run_id)},
            "recursion_limit": options.recursion_limit,
        }
        if options.max_concurrency is not None:
            self._config["max_concurrency"] = options.max_concurrency

    async def result(self, given: object) -> LangGraphResult:
        """Run the graph to its end; the activation waits where it asks."""
        snapshot = await self._graph.aget_state(self._config)
        while (following := await self._next(snapshot, given)) is not _DONE:
            await self._advance(following)
            snapshot = await self._graph.aget_state(self._config)
        facts: Mapping[str, Any] = snapshot.metadata or {}
        return LangGraphResult(
            executor_id=self._node.id,
            thread_id=self._thread_id,
            turn=self._turn,
            values=cast("dict[str, Any]", values_of(self._output(snapshot.values))),
            text=last_text(snapshot.values),
            steps=max(int(facts.get("step", 0)), 0),
        )

    async def _next(self, snapshot: StateSnapshot, given: object) -> object:
        """Return the next input of the graph: the message, answers, None to continue; ``_DONE`` at the end.

        Raises:
            ThreadTakenError: Another run is in the thread.
        """
        if not await self._is_mine(snapshot):
            await self._refuse_taken(snapshot, str((snapshot.metadata or {}).get(TURN) or ""))
            return input_of(self._graph, given)
        if snapshot.interrupts:
            return Command(resume=await self._questions.answers(snapshot))
        if not snapshot.tasks:  # not `next`: it omits nodes with a result, also before their step is stored
            return _DONE
        if await self._is_at_breakpoint(snapshot):
            await self._questions.approve(snapshot)
        return None

    async def _is_mine(self, snapshot: StateSnapshot) -> bool:
        """Whether this activation made a checkpoint, or the one that a person has edited (`update_state`)."""
        while (facts := snapshot.metadata or {}).get("source") in EDITS and TURN not in facts:
            if snapshot.parent_config is None:
                return False
            snapshot = await self._graph.aget_state(snapshot.parent_config)
        return facts.get(TURN) == self._turn

    async def _refuse_taken(self, snapshot: StateSnapshot, made_by: str) -> None:
        run_id = made_by.partition(":")[0]
        if not snapshot.tasks or not made_by:
            return
        if await self._node.may_continue(run_id):
            raise ThreadTakenError(
                self._thread_id,
                f"run {run_id} has not ended in it; answer its requests "
                f"(`agentic requests list --run {run_id}`), wait for it, or cancel it",
            )

    async def _is_at_breakpoint(self, snapshot: StateSnapshot) -> bool:
        graph = self._graph
        before, after = graph.interrupt_before_nodes, graph.interrupt_after_nodes
        if any(is_named(one, before) for one in snapshot.next):
            return True
        if not after or snapshot.parent_config is None:
            return False
        parent = await graph.aget_state(snapshot.parent_config)
        return any(is_named(one.name, after) for one in parent.tasks)

    async def _advance(self, given: object) -> None:
        """Run the graph until it ends or asks; when the worker stops, wait for the nodes at work."""
        control = RunControl()
        work = asyncio.ensure_future(self._stream(given, control))
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError as exc:
            if exc.args and exc.args[0]:  # a worker that stops says so; a cancelled run ends at once
                control.request_drain(str(exc.args[0]))
                log.info(
                    "graph.draining", thread_id=self._thread_id, reason=str(exc.args[0]), limit_s=DRAIN_S
                )
                await asyncio.wait([work], timeout=DRAIN_S)
            work.cancel()
            await asyncio.wait([work])
            if not work.cancelled():
                work.exception()  # of no interest any more
            raise

    async def _stream(self, given: object, control: RunControl) -> None:
        parts: AsyncIterator[Any] = self._graph.astream(
            cast("Any", given),
            self._config,
            context=self._options.context,
            stream_mode=MODES,
            durability=self._options.durability,
            control=control,
            subgraphs=True,
            version="v2",
        )
        async with aclosing(cast("Any", parts)) as stream:
            async for part in stream:
                for event in events_of(part):
                    await self._ctx.add_event(event)
                if is_step_of(part):
                    self._steps += 1
                    self._ctx.report_progress(self._steps, note=", ".join(part["data"] or ()))

    def _output(self, values: object) -> object:
        """Return the part of a state that the graph gives out."""
        names = self._graph.output_channels
        if isinstance(values, Mapping) and not isinstance(names, str):
            return {name: values[name] for name in names if name in values}
        return values


_DONE = object()

"""Concurrent: all participants in parallel, and an aggregator that sees all their results."""

from __future__ import annotations

from typing import Any, Self

from agentic.core.agents.agent import Agent
from agentic.core.graph import ExecutorKind, Workflow, WorkflowContext, handler
from agentic.core.patterns.aggregating import (
    AgentAggregator,
    Aggregator,
    AggregatorFn,
    CustomAggregator,
    DefaultAggregator,
)
from agentic.core.patterns.building import PatternBuilder
from agentic.core.patterns.conversation import ConversationInput, Conversing, conversation_of
from agentic.core.patterns.participants import BroadcastMessage, StarRole, participant_of


class BroadcastExecutor(Conversing):
    """The splitter: it gives the input to all participants."""

    def __init__(self, id: str = "splitter") -> None:  # noqa: A002  # as of every executor
        super().__init__(id, kind=ExecutorKind.ORCHESTRATOR)

    @handler
    async def on_input(self, given: ConversationInput, ctx: WorkflowContext[Any, Any]) -> BroadcastMessage:
        """Give the input to all."""
        return BroadcastMessage(message_count=self.add_messages(ctx, 0, conversation_of(given)))


class ConcurrentBuilder(PatternBuilder):
    """Builds a splitter, participants that work at a time, and an aggregator.

    A participant that fails does not fail the run: the aggregator sees its error beside the results of the
    others. The output is an :class:`AggregatedResult`, unless the aggregator gives something else.
    """

    fewest = 2
    _aggregator: AggregatorFn | Agent[Any] | None = None

    def with_aggregator(self, aggregator: AggregatorFn | Agent[Any]) -> Self:
        """Set the aggregator, a function or an agent; all answers are collected if omitted.

        Args:
            aggregator: ``(results)``, sync or async, or ``(results, ctx)``, async; or an agent that reads the
                answers and writes one, such as :func:`model_synthesis`.
        """
        self._aggregator = aggregator
        return self

    def _build(self) -> Workflow:
        nodes = [participant_of(node, StarRole(), self._name) for node in self._participants]
        splitter, aggregator = BroadcastExecutor(), self._made_aggregator([node.id for node in nodes])
        return (
            self._graph()
            .set_start(splitter)
            .add_fan_out_edge(splitter, nodes)
            .add_fan_in_edge(nodes, aggregator, mode="available", on="always")
            .build()
        )

    def _made_aggregator(self, names: list[str]) -> Aggregator:
        chosen = self._aggregator
        if chosen is None:
            return DefaultAggregator("aggregator", names)
        if isinstance(chosen, Agent):
            return AgentAggregator("aggregator", names, chosen)
        return CustomAggregator("aggregator", names, chosen)

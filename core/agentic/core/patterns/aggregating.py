"""Aggregators: they make one result of the answers of several participants."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Self

from agentic.core.agents.agent import Agent
from agentic.core.agents.chat_agent import ChatAgent
from agentic.core.agents.responses import SpokenOutput
from agentic.core.graph import ExecutorFailure, ExecutorKind, Workflow, WorkflowContext, handler
from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.messages import ChatMessage
from agentic.core.patterns.asking import ask
from agentic.core.patterns.conversation import Conversing
from agentic.core.patterns.errors import AggregationError, TooManyFailuresError
from agentic.core.patterns.participants import ParticipantResult

AggregatorFn = (
    Callable[[Sequence[ParticipantResult]], object | Awaitable[object]]
    | Callable[[Sequence[ParticipantResult], WorkflowContext[Any, Any]], Awaitable[object]]
)
"""Gets the results and errors of all participants, in their order; returns a text, an
:class:`AggregatedResult`, or any other value that a workflow can yield."""

SYNTHESIZE = (
    "Several experts have answered the same request. Make one coherent answer of theirs: keep all points on "
    "which they agree, name each disagreement, and add nothing of your own. Name the experts that failed."
)

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class AggregatedResult(SpokenOutput):
    """The result of an aggregator.

    Attributes:
        summary: The text that the aggregator made; None if it only collected.
        responses: Answers of the participants, in their order.
        failed_count: How many failed.
    """

    __wire_name__ = "agentic.patterns.AggregatedResult"

    summary: str | None = None
    responses: tuple[ParticipantResult, ...] = ()
    failed_count: int = 0

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Return a result that is a text."""
        return cls(summary=text)

    @classmethod
    def partial(cls, responses: Sequence[ParticipantResult], failed_count: int) -> Self:
        """Return a result that is a part of the answers."""
        return cls(responses=tuple(responses), failed_count=failed_count)

    @property
    def text(self) -> str:
        """The summary, or the answers with their authors."""
        if self.summary is not None:
            return self.summary
        return "\n\n".join(f"{one.executor_id}: {one.text}" for one in self.responses)


class Aggregator(Conversing):
    """Base of aggregators: it sees each participant once, in their order, with its result or its error.

    Args:
        id: Unique in the pattern.
        participants: The ids of the participants.
    """

    def __init__(self, id: str, participants: Sequence[str]) -> None:  # noqa: A002  # as of every executor
        super().__init__(id, kind=ExecutorKind.ORCHESTRATOR)
        self.participants = tuple(participants)

    @handler
    async def on_results(
        self, given: list[ParticipantResult | ExecutorFailure], ctx: WorkflowContext[Any, Any]
    ) -> object:
        """Aggregate the results."""
        found = await self.aggregate(self.results_of(given), ctx)
        if isinstance(found, str):
            found = AggregatedResult.of_text(found)
        if isinstance(found, AggregatedResult):
            return found.model_copy(update={"usage": found.usage + self.usage_so_far(ctx)})
        return found

    def results_of(
        self, given: Sequence[ParticipantResult | ExecutorFailure]
    ) -> tuple[ParticipantResult, ...]:
        """Return one result for each participant.

        Raises:
            AggregationError: One answered twice.
        """
        found: dict[str, ParticipantResult] = {}
        for one in given:
            result = (
                one
                if isinstance(one, ParticipantResult)
                else ParticipantResult(executor_id=one.executor_id, error=one)
            )
            if result.executor_id in found:
                raise AggregationError(
                    f"participant {result.executor_id!r} answered twice; it may answer once"
                )
            found[result.executor_id] = result
        silent = (ParticipantResult(executor_id=name) for name in self.participants if name not in found)
        found |= {one.executor_id: one for one in silent}
        return tuple(found[name] for name in self.participants)

    async def aggregate(self, results: Sequence[ParticipantResult], ctx: WorkflowContext[Any, Any]) -> object:
        """Return the result; for subclasses."""
        raise NotImplementedError


class DefaultAggregator(Aggregator):
    """Collects all answers; fails only if every participant failed."""

    async def aggregate(
        self,
        results: Sequence[ParticipantResult],
        ctx: WorkflowContext[Any, Any],  # noqa: ARG002
    ) -> AggregatedResult:
        """Return the answers.

        Raises:
            TooManyFailuresError: All participants failed.
        """
        failed = failures_of(results)
        if len(failed) == len(results):
            raise TooManyFailuresError(failed, len(results))
        return AggregatedResult.partial([one for one in results if one.ok], len(failed))


class CustomAggregator(Aggregator):
    """Aggregates with a function.

    Args:
        id: Unique in the pattern.
        participants: The ids of the participants.
        function: Gets the results, and the context if it needs two arguments.
    """

    def __init__(self, id: str, participants: Sequence[str], function: AggregatorFn) -> None:  # noqa: A002
        super().__init__(id, participants)
        self.function: Any = function
        self.takes_context = _needs_two(function)

    async def aggregate(self, results: Sequence[ParticipantResult], ctx: WorkflowContext[Any, Any]) -> object:
        """Return the function's result."""
        found = self.function(results, ctx) if self.takes_context else self.function(results)
        return await found if inspect.isawaitable(found) else found


class AgentAggregator(Aggregator):
    """Aggregates with an agent, which reads the answers and writes one.

    Args:
        id: Unique in the pattern.
        participants: The ids of the participants.
        agent: The agent.
    """

    def __init__(self, id: str, participants: Sequence[str], agent: Agent[Any]) -> None:  # noqa: A002
        super().__init__(id, participants)
        self.agent = agent

    @property
    def called_workflows(self) -> tuple[Workflow, ...]:
        """The workflows of the agent."""
        return tuple(self.agent.workflows)

    async def aggregate(
        self, results: Sequence[ParticipantResult], ctx: WorkflowContext[Any, Any]
    ) -> AggregatedResult:
        """Return the agent's answer.

        Raises:
            TooManyFailuresError: There is nothing to read.
        """
        failed = failures_of(results)
        if len(failed) == len(results):
            raise TooManyFailuresError(failed, len(results))
        answers = "\n\n".join(f"{one.executor_id}:\n{_words(one)}" for one in results)
        answer = await ask(self.agent, [ChatMessage.user(answers)], ctx)
        return AggregatedResult(
            summary=answer.text,
            responses=tuple(one for one in results if one.ok),
            failed_count=len(failed),
            usage=answer.usage,
        )


def model_synthesis(model: LLMAdapter | str, instructions: str = SYNTHESIZE) -> ChatAgent[str]:
    """Return an aggregator that writes one answer with a model: ``with_aggregator(model_synthesis(model))``.

    Args:
        model: The model, or its name.
        instructions: For the model.
    """
    return ChatAgent(model, instructions, name="synthesis")


def failures_of(results: Sequence[ParticipantResult]) -> list[str]:
    """Return the failures among results, in words."""
    return [
        f"{one.executor_id}: {one.error.error_type}: {one.error.message[:200]}"
        for one in results
        if one.error is not None
    ]


def _needs_two(function: AggregatorFn) -> bool:
    """Whether a function needs a second argument; one with a default is the function's own."""
    found = inspect.signature(function).parameters.values()
    return sum(one.default is one.empty and one.kind in _POSITIONAL for one in found) > 1


def _words(result: ParticipantResult) -> str:
    if result.error is None:
        return result.text or "(no answer)"
    return f"(failed with {result.error.error_type})"

"""Where an agent's effects are kept: replies of models and results of tools, each as it comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from agentic.core.agents.requests import PendingRequest, RequestAnswer
from agentic.core.graph.codec.codec import to_text
from agentic.core.graph.codec.payload import JSONText
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from agentic.core.graph.build.workflow import Workflow
    from agentic.core.graph.model.result import RunResult


def kept_form(journal: EffectJournal, data: JSONValue) -> JSONValue:
    """Return a result as a journal keeps it best: a ledger takes its text, and copies nothing."""
    if not getattr(journal, "takes_text", False):
        return data
    try:
        return cast(JSONValue, JSONText(to_text(data)))
    except (ValueError, TypeError, RecursionError):  # it cannot be stored: the run says why
        return data


class EffectJournal(Protocol):
    """Keeps the results of effects, so that none is done twice.

    In a graph it is the run's ledger (``ctx.once``); outside, the thread itself is the journal.
    """

    async def once(self, key: str, effect: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        """Return the result of the first time that ``effect`` ran to its end under this key."""
        ...

    async def ask(self, requests: Sequence[PendingRequest], part: str = "") -> Sequence[RequestAnswer] | None:
        """Return the answers to requests, or None if they come later, with another call of the agent.

        Args:
            requests: All that are open in a conversation.
            part: Names the conversation of a nested agent. Calls of two agents may have equal ids.
        """
        ...

    async def run_workflow(
        self, key: str, workflow: Workflow, message: object, *, is_kept: bool = True
    ) -> RunResult | None:
        """Run a workflow as a part of the run, or return None if it must be a run of its own.

        Args:
            key: Identifies the call.
            workflow: The workflow.
            message: Its input.
            is_kept: Whether it continues where it stopped, as in :meth:`WorkflowContext.run_workflow`.
        """
        ...


class ThreadJournal:
    """For agents outside of graphs: each effect is in the thread before the next one begins."""

    async def once(self, key: str, effect: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        """Run the effect."""
        del key
        return await effect()

    async def ask(self, requests: Sequence[PendingRequest], part: str = "") -> None:
        """Return nothing: the caller answers."""
        del requests, part

    async def run_workflow(
        self, key: str, workflow: Workflow, message: object, *, is_kept: bool = True
    ) -> None:
        """Return nothing: it is not in a run."""
        del key, workflow, message, is_kept


class PartJournal:
    """A part of a journal: its keys begin with a prefix.

    Args:
        whole: The journal.
        prefix: Of its keys.
    """

    def __init__(self, whole: EffectJournal, prefix: str) -> None:
        self._whole = whole
        self._prefix = prefix
        self.takes_text: bool = getattr(whole, "takes_text", False)

    async def once(self, key: str, effect: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        """Run an effect once; see :class:`EffectJournal`."""
        return await self._whole.once(f"{self._prefix}{key}", effect)

    async def ask(self, requests: Sequence[PendingRequest], part: str = "") -> Sequence[RequestAnswer] | None:
        """Ask; see :class:`EffectJournal`."""
        return await self._whole.ask(requests, f"{self._prefix}{part}")

    async def run_workflow(
        self, key: str, workflow: Workflow, message: object, *, is_kept: bool = True
    ) -> RunResult | None:
        """Run a workflow; see :class:`EffectJournal`."""
        return await self._whole.run_workflow(f"{self._prefix}{key}", workflow, message, is_kept=is_kept)

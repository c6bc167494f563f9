"""The agent around a workflow: its limits hold for agents in it, and their use of models counts for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Never

from pydantic import BaseModel, ConfigDict

from agentic.core.agents.journal import EffectJournal
from agentic.core.agents.limits import LimitCheck
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue


class _Ended(BaseModel):
    """The use of models by an agent that has ended, as a journal keeps it."""

    model_config = ConfigDict(extra="forbid")

    turn: str
    usage: TokenUsage


class OuterTurn:
    """The turn of an agent that runs a workflow, for the agents in the workflow.

    Attributes:
        limit_reached: Checks its limits.
        add_usage: Takes each use of models at once.
        settled: The use by the agents that have ended.
    """

    def __init__(
        self,
        journal: EffectJournal,
        name: str,
        limit_reached: LimitCheck,
        add_usage: Callable[[TokenUsage], None],
    ) -> None:
        self.limit_reached = limit_reached
        self.add_usage = add_usage
        self.settled = TokenUsage()
        self._journal = journal
        self._name = name
        self._ended: set[str] = set()
        self._number = 0

    @classmethod
    async def begin(
        cls,
        journal: EffectJournal,
        name: str,
        limit_reached: LimitCheck,
        add_usage: Callable[[TokenUsage], None],
    ) -> OuterTurn:
        """Return the turn around a workflow, with the use by the agents that ended in an earlier entry.

        They do not run again in this one.

        Args:
            journal: Of the call.
            name: Of the call.
            limit_reached: Checks the limits of the turn.
            add_usage: Takes each use of models at once.
        """
        made = cls(journal, name, limit_reached, add_usage)
        while (found := await made._next()) is not None:
            if made._take(found):
                add_usage(found.usage)
        return made

    @contextmanager
    def around(self) -> Iterator[None]:
        """Be the turn around each workflow that runs in the block."""
        token = _outer.set(self)
        try:
            yield
        finally:
            _outer.reset(token)

    def watch(self, thread: AgentThread, turn: str) -> None:
        """Take the use by an agent as it comes, unless it is known from an earlier entry."""
        if turn in self._ended:
            return
        if (begun := thread.find_turn(turn)) is not None:
            self.add_usage(begun.usage)
        thread.on_usage = self.add_usage

    async def settle(self, turn: str, usage: TokenUsage) -> None:
        """Keep the use by an agent that has ended."""
        ended = _Ended(turn=turn, usage=usage)
        if not self._take(ended):
            return

        async def effect() -> JSONValue:
            return ended.model_dump(mode="json", exclude_defaults=True)

        # Agents may end in another order than before a crash: then a number may be taken.
        while (await self._once(effect)).turn != turn:
            pass

    def _take(self, ended: _Ended) -> bool:
        """Count the use by an agent, unless it is known."""
        if ended.turn in self._ended:
            return False
        self._ended.add(ended.turn)
        self.settled += ended.usage
        return True

    async def _next(self) -> _Ended | None:
        """Return the next use that is kept."""
        try:
            return await self._once(_none_kept)
        except _NoneKeptError:
            self._number -= 1
            return None

    async def _once(self, effect: Callable[[], Awaitable[JSONValue]]) -> _Ended:
        self._number += 1
        return _Ended.model_validate(await self._journal.once(f"{self._name}.used.{self._number}", effect))


class _NoneKeptError(Exception):
    """A journal keeps nothing under a key."""


async def _none_kept() -> Never:
    raise _NoneKeptError


_outer: ContextVar[OuterTurn | None] = ContextVar("agentic_outer_turn", default=None)


def outer_turn() -> OuterTurn | None:
    """Return the turn of the agent that runs the workflow around this code, if one does."""
    return _outer.get()

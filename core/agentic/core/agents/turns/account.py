"""The use of models and tools by a turn, and its limits."""

from __future__ import annotations

import time
from collections.abc import Callable

from agentic.core.agents.limits import (
    NO_USE,
    LimitCheck,
    UsageLimits,
    limit_before_model,
    limit_before_tools,
)
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.llm.usage import TokenUsage

CALL = TokenUsage(tool_calls=1)


class TurnAccount:
    """The account of a turn: it knows the use by nested agents at once, and reports to the turn around it.

    So a limit holds for all agents below. Each of them asks those around it before a request to its model,
    and before calls of its tools.

    Args:
        limits: Of the turn; None for the limits of the turns around it only.
        settled: Returns the use that is in the log of the turn.
        outer_limit: Checks the limits of the agents around it.
    """

    def __init__(
        self, limits: UsageLimits | None, settled: Callable[[], TokenUsage], outer_limit: LimitCheck | None
    ) -> None:
        self.limits = limits
        self._settled = settled
        self._outer_limit = outer_limit
        self._begun = time.monotonic()
        self._under_way: dict[str, TokenUsage] = {}
        self._entering: str | None = None
        self._tell: Callable[[TokenUsage], None] | None = None

    def follow(self, thread: AgentThread) -> None:
        """Take the use in new entries of the thread, until :meth:`leave`; its reader gets it from here."""
        self._tell, thread.on_usage = thread.on_usage, self._entered

    def leave(self, thread: AgentThread) -> None:
        """End :meth:`follow`."""
        thread.on_usage, self._tell = self._tell, None

    def begin(self, key: str, *, is_first: bool = True) -> None:
        """Count a call of a tool that begins now; one that continues after a pause counts already."""
        self._under_way[key] = CALL if is_first else NO_USE
        if is_first:
            self._told(CALL)

    def spend(self, key: str, usage: TokenUsage) -> None:
        """Count a use of models by a call, or by other work, that has not ended."""
        self._under_way[key] = self._under_way.get(key, NO_USE) + usage
        self._told(usage)

    def spent(self, key: str) -> TokenUsage:
        """Return the use by work that has not ended."""
        return self._under_way.get(key, NO_USE)

    def enter(self, key: str) -> None:
        """The next entry of the thread has the use by this work, which is over then."""
        self._entering = key

    def reached(self, unsettled: TokenUsage = NO_USE, /, *, new_calls: int = 0) -> str | None:
        """Return the limit that forbids more, in words: of this turn, or of one around it; see LimitCheck."""
        found = None if self.limits is None else self._own_limit(self.limits, unsettled, new_calls)
        if found is not None or self._outer_limit is None:
            return found
        outer = self._outer_limit(unsettled, new_calls=new_calls)
        return None if outer is None else f"the agent that called it stopped: {outer}"

    def _own_limit(self, limits: UsageLimits, unsettled: TokenUsage, new_calls: int) -> str | None:
        usage = self._settled()
        for part in self._under_way.values():
            usage += part
        if unsettled is not NO_USE:
            usage += unsettled
        if new_calls:
            return limit_before_tools(limits, usage, new_calls)
        return limit_before_model(limits, usage, time.monotonic() - self._begun)

    def _entered(self, usage: TokenUsage) -> None:
        """Take the use in a new entry; if the work began here, only the part that is not known."""
        if self._entering is None:
            self._told(usage)
            return
        known = self._under_way.pop(self._entering, NO_USE)
        self._entering = None
        if known is NO_USE:
            self._told(usage)
        elif known is CALL and usage != CALL:  # its result was kept: it did not run again
            self._told(usage.model_copy(update={"tool_calls": max(usage.tool_calls - 1, 0)}))

    def _told(self, usage: TokenUsage) -> None:
        if self._tell is not None:
            self._tell(usage)

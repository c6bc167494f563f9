"""Options of one run of an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentic.core.agents.background.token import ContinuationToken
from agentic.core.agents.journal import EffectJournal
from agentic.core.agents.limits import LimitCheck, UsageLimits
from agentic.core.llm.requests import ModelSettings
from agentic.core.records import record


@record(kw_only=True)
class RunOptions:
    """Options of one run; None is the agent's own.

    Attributes:
        output_type: The type of the output.
        limits: Limits of the turn.
        settings: Settings of the model, over the agent's.
        allow_background: Run elsewhere, and return at once with a token; see
            :meth:`~agentic.core.agents.Agent.invoke_with_background`.
        continuation_token: Return the answer of this background run, or more of its pieces.
        idempotency_key: Id of the turn. The same key again returns the same answer, or continues its turn.
        approval_s: Seconds after which an unanswered request counts as rejected.
        facts: For tools: ``ToolContext.facts``. Never stored.
        path: The agents and tools around this run, outermost first.
        journal: Keeps the effects; graphs give theirs.
        outer_limit: Checks the limits of the agent that calls this one as a tool: its use counts for both.
    """

    output_type: Any = None
    limits: UsageLimits | None = None
    settings: ModelSettings | None = None
    allow_background: bool = False
    continuation_token: ContinuationToken | None = None
    idempotency_key: str | None = None
    approval_s: float | None = None
    facts: Mapping[str, object] | None = None
    path: tuple[str, ...] = ()
    journal: EffectJournal | None = None
    outer_limit: LimitCheck | None = None

    @property
    def is_background(self) -> bool:
        """Whether the call begins a background run, or continues with one."""
        return self.allow_background or self.continuation_token is not None


DEFAULT_OPTIONS = RunOptions()

InvokeOptions = RunOptions
"""The name that calls with background runs use."""

"""A tool as an agent uses it, whatever is behind it."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from inspect import iscoroutinefunction
from typing import Literal

from agentic.core.agents.errors import ToolDefinitionError
from agentic.core.agents.journal import EffectJournal
from agentic.core.agents.limits import LimitCheck
from agentic.core.agents.responses import AgentChunk
from agentic.core.agents.tools.pausing import Continued, ToolPause
from agentic.core.errors import line_of
from agentic.core.graph.model.policies import ONCE, RetryPolicy
from agentic.core.linear import LinearPattern
from agentic.core.llm.messages import ToolCall
from agentic.core.llm.requests import ToolDefinition
from agentic.core.llm.usage import TokenUsage
from agentic.core.logging import get_logger
from agentic.core.records import record
from agentic.core.types import JSONValue

log = get_logger(__name__)

NAME = LinearPattern(r"[A-Za-z0-9_-]{1,64}")

Approval = Literal["never", "always"] | Callable[[Mapping[str, JSONValue]], bool]
"""Whether a person must approve a call: a function gets the arguments and returns True if one must."""


async def no_refusal(_: ToolCall) -> None:
    """Refuse nothing."""


@record(kw_only=True)
class ToolContext:
    """The call that a tool works for; a parameter of this type is filled in, and hidden from the model.

    Attributes:
        agent: Name of the agent.
        thread_id: Its thread.
        user_id: The person of the thread.
        call_id: The call.
        idempotency_key: The same for every try of the call, also in another process: for calls of services.
        path: The agents and tools around it, outermost first.
        facts: ``RunOptions.facts`` of the caller of the agent: clients, settings.
        report: Takes the pieces of a nested agent's answer.
        add_usage: Takes the use of models by the tool.
        journal: Keeps the effects of the call, each once.
        limit_reached: Checks the limits of the agent before more use of models.
        continued: The pause that this call continues from, with the answers; see
            :class:`~agentic.core.agents.ToolPause`.
        refusal_of: Returns why a guard of the agent refuses a call inside of this one.
    """

    agent: str
    thread_id: str
    user_id: str | None
    call_id: str
    idempotency_key: str
    path: tuple[str, ...]
    facts: Mapping[str, object]
    report: Callable[[AgentChunk], Awaitable[None]]
    add_usage: Callable[[TokenUsage], None]
    journal: EffectJournal
    limit_reached: LimitCheck
    continued: Continued | None = None
    refusal_of: Callable[[ToolCall], Awaitable[str | None]] = no_refusal


class Tool(ABC):
    """Something that a model can call.

    Attributes:
        name: 1 to 64 letters, digits, ``_`` or ``-``.
        description: For the model: the effect of a call, and its occasion.
        parameters: JSON Schema of the arguments, an object.
        approval: Whether a person must approve a call.
        timeout_s: Seconds that one try may take; None for no limit of its own.
        retry: How often a failing call is tried.
        is_external: Whether its result comes from outside, as an answer; then it is never called.
        is_deduplicated: Whether the same call again, in one turn, gets the earlier result. For tools that
            only read.

    Raises:
        ToolDefinitionError: Its name, approval, time limit or retries cannot be used.
    """

    def __init__(  # noqa: PLR0913  # the facts of a tool, most optional
        self,
        name: str,
        description: str,
        parameters: dict[str, JSONValue],
        *,
        approval: Approval = "never",
        timeout_s: float | None = None,
        retry: RetryPolicy = ONCE,
        is_external: bool = False,
        is_deduplicated: bool = False,
    ) -> None:
        if NAME.fullmatch(name) is None:
            raise ToolDefinitionError(
                f"a tool cannot be called {name!r}: use 1 to 64 letters, digits, '_' or '-': "
                "tool(name=...) sets it"
            )
        _check(name, approval, timeout_s, retry)
        self.name = name
        self.description = description
        self.parameters = parameters
        self.approval = approval
        self.timeout_s = timeout_s
        self.retry = retry
        self.is_external = is_external
        self.is_deduplicated = is_deduplicated

    @cached_property
    def definition(self) -> ToolDefinition:
        """The tool as a model sees it."""
        return ToolDefinition(name=self.name, description=self.description, parameters=self.parameters)

    @cached_property
    def version(self) -> str:
        """A digest of its name, description and parameters: an approval is valid for one version."""
        parts = [self.name, self.description, self.parameters]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def needs_approval(self, arguments: Mapping[str, JSONValue]) -> bool:
        """Whether a person must approve a call with these arguments; also if its function fails on them."""
        if callable(self.approval):
            try:
                return self.approval(arguments)
            except Exception as exc:  # a model may give any arguments
                log.warning("approval.failed", tool=self.name, error=line_of(exc))
                return True
        return self.approval == "always"

    @abstractmethod
    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue | ToolPause:
        """Return the result of a call, or a pause.

        Raises:
            ToolArgumentsError: The arguments do not fit; the model reads why, and can correct them.
            ToolError: The model reads the message, and continues.
            Exception: The model reads its class only, and continues.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def _check(name: str, approval: object, timeout_s: object, retry: object) -> None:
    """Refuse an approval that would never ask, and limits that would fail in a call."""
    is_rule = callable(approval) and not iscoroutinefunction(approval)
    if not is_rule and approval not in ("never", "always"):
        raise ToolDefinitionError(
            f"the approval of tool {name!r} is {approval!r:.100}; use 'always', 'never', or a function (not "
            "an async one) that gets the arguments and returns whether a person must approve the call"
        )
    if timeout_s is not None and not (isinstance(timeout_s, (int, float)) and timeout_s > 0):
        raise ToolDefinitionError(
            f"timeout_s of tool {name!r} is {timeout_s!r:.100}; use more than 0 seconds, or None"
        )
    if not isinstance(retry, RetryPolicy):
        raise ToolDefinitionError(
            f"retry of tool {name!r} is {retry!r:.100}; use a RetryPolicy(max_attempts=...)"
        )


class ExternalTool(Tool):
    """A tool whose result comes from outside: a person, or another program, answers the call.

    Args:
        name: Its name.
        description: For the model.
        parameters: JSON Schema of the arguments.
    """

    def __init__(self, name: str, description: str, parameters: dict[str, JSONValue]) -> None:
        super().__init__(name, description, parameters, is_external=True)

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue:
        """Refuse: the answer to the request is the result."""
        del arguments, context
        raise ToolDefinitionError(f"the tool {self.name!r} is external: answer its request")


def ask_person(
    name: str = "ask_person", description: str = "Ask a person, and wait for the answer."
) -> ExternalTool:
    """Return a tool for questions to a person."""
    question: dict[str, JSONValue] = {"type": "string", "description": "The question, complete in itself."}
    return ExternalTool(
        name,
        description,
        {"type": "object", "properties": {"question": question}, "required": ["question"]},
    )

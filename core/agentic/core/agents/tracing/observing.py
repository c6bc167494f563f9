"""The observer of agents in this process, if there is one."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from agentic.core.agents.responses import AgentResponse
from agentic.core.llm.messages import ToolCall, ToolResult
from agentic.core.llm.requests import ModelReply, ModelRequest

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider


class ObservedWork(Protocol):
    """Work that is observed until its block ends; an error ends it, too."""

    def answered(self, response: AgentResponse[Any]) -> None:
        """Take the answer of an agent."""

    def replied(self, reply: ModelReply) -> None:
        """Take the reply of a model."""

    def returned(self, result: ToolResult) -> None:
        """Take the result of a tool."""


class AgentObserver(Protocol):
    """Sees the turns of agents, their requests to models and their calls of tools."""

    def agent(self, name: str, thread_id: str) -> AbstractContextManager[ObservedWork]:
        """Observe a turn of an agent."""
        ...

    def chat(
        self, agent: str, thread_id: str, model: str, request: ModelRequest
    ) -> AbstractContextManager[ObservedWork]:
        """Observe a request to a model, by its name ``provider:model``."""
        ...

    def tool(self, agent: str, thread_id: str, call: ToolCall) -> AbstractContextManager[ObservedWork]:
        """Observe a call of a tool."""
        ...


_observer: AgentObserver | None = None


def current_observer() -> AgentObserver | None:
    """Return the observer, if there is one."""
    return _observer


def observe_agents(observer: AgentObserver | None) -> None:
    """Set the observer of all agents of this process; None for none."""
    global _observer  # noqa: PLW0603  # one for each process
    _observer = observer


def trace_agents(
    *,
    content: bool | None = None,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
) -> None:
    """Report all agents of this process to OpenTelemetry, from now on.

    Spans are named ``invoke_agent NAME``, ``chat MODEL`` and ``execute_tool NAME``. The metrics are
    ``gen_ai.client.token.usage`` and ``gen_ai.client.operation.duration``. ``observe_agents(None)`` ends it.

    Args:
        content: Whether spans have instructions, messages, arguments and results. If omitted, the environment
            decides: ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true``. Otherwise they have none.
        tracer_provider: OpenTelemetry's own if omitted.
        meter_provider: OpenTelemetry's own if omitted.

    Raises:
        MissingExtraError: The extra ``otel`` is not installed.
    """
    try:
        from agentic.core.agents.tracing.otel import OpenTelemetryObserver, is_content_wanted
    except ModuleNotFoundError as exc:
        from agentic.core.reading.extras import MissingExtraError

        raise MissingExtraError("opentelemetry-api", "otel") from exc
    wanted = is_content_wanted() if content is None else content
    observe_agents(
        OpenTelemetryObserver(content=wanted, tracer_provider=tracer_provider, meter_provider=meter_provider)
    )

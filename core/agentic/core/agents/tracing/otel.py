"""Agents as spans and metrics of OpenTelemetry."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.util.types import AttributeValue

from agentic.core.agents.responses import AgentResponse
from agentic.core.agents.tracing import names
from agentic.core.errors import name_of
from agentic.core.llm.messages import ChatMessage, TextPart, ThinkingPart, ToolCall, ToolResult
from agentic.core.llm.requests import ModelReply, ModelRequest
from agentic.core.types import JSONValue

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable for content that instrumentations of OpenTelemetry share."""

_SCOPE = "agentic.core.agents"
_TOKEN_BUCKETS = [float(4**power) for power in range(14)]
_DURATION_BUCKETS = [0.01 * 2**power for power in range(14)]


def is_content_wanted() -> bool:
    """Whether the environment wants the content of messages in spans."""
    return os.environ.get(CAPTURE, "").strip().lower() in {"true", "1", "span_only", "span_and_event"}


class OpenTelemetryObserver:
    """Makes spans and metrics of the work of agents.

    Args:
        content: Whether spans have instructions, messages, arguments and results.
        tracer_provider: OpenTelemetry's own if omitted.
        meter_provider: OpenTelemetry's own if omitted.
    """

    def __init__(
        self,
        *,
        content: bool,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        release = version("agentic-pipelines")
        self._content = content
        self._tracer = trace.get_tracer(_SCOPE, release, tracer_provider)
        meter = metrics.get_meter(_SCOPE, release, meter_provider)
        self._tokens = meter.create_histogram(
            names.TOKEN_USAGE,
            unit="{token}",
            description="Tokens in and out.",
            explicit_bucket_boundaries_advisory=_TOKEN_BUCKETS,
        )
        self._durations = meter.create_histogram(
            names.DURATION,
            unit="s",
            description="Durations of requests to models.",
            explicit_bucket_boundaries_advisory=_DURATION_BUCKETS,
        )

    @contextmanager
    def agent(self, name: str, thread_id: str) -> Iterator[_Work]:
        """Observe a turn of an agent."""
        facts = {
            names.OPERATION: names.INVOKE_AGENT,
            names.AGENT_NAME: name,
            names.CONVERSATION: thread_id,
        }
        with self._span(f"{names.INVOKE_AGENT} {name}", SpanKind.INTERNAL, facts) as work:
            yield work

    @contextmanager
    def chat(self, agent: str, thread_id: str, model: str, request: ModelRequest) -> Iterator[_Work]:
        """Observe a request to a model."""
        labels: dict[str, AttributeValue] = {names.OPERATION: names.CHAT, **_model_of(model)}
        facts = {**labels, names.AGENT_NAME: agent, names.CONVERSATION: thread_id, **_settings(request)}
        if self._content:
            facts[names.INSTRUCTIONS] = _json([{"type": "text", "content": request.instructions}])
            facts[names.INPUT_MESSAGES] = _messages(request.messages)
        begun = time.perf_counter()
        error: dict[str, AttributeValue] = {}
        work: _Work | None = None
        try:
            with self._span(_chat_name(model), SpanKind.CLIENT, facts) as work:
                yield work
        except Exception as exc:
            error = {names.ERROR_TYPE: name_of(exc)}
            raise
        finally:
            if work is not None:
                labels |= work.labels
                for kind, count in work.tokens.items():
                    self._tokens.record(count, {**labels, names.TOKEN_TYPE: kind})
            self._durations.record(time.perf_counter() - begun, {**labels, **error})

    @contextmanager
    def tool(self, agent: str, thread_id: str, call: ToolCall) -> Iterator[_Work]:
        """Observe a call of a tool."""
        facts: dict[str, AttributeValue] = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: call.name,
            names.TOOL_TYPE: "function",
            names.TOOL_CALL_ID: call.id,
            names.AGENT_NAME: agent,
            names.CONVERSATION: thread_id,
        }
        if self._content:
            facts[names.TOOL_ARGUMENTS] = _json(call.arguments)
        with self._span(f"{names.EXECUTE_TOOL} {call.name}", SpanKind.INTERNAL, facts) as work:
            yield work

    @contextmanager
    def _span(self, name: str, kind: SpanKind, facts: Mapping[str, AttributeValue]) -> Iterator[_Work]:
        # Messages of errors may quote content, so the class alone is reported without it.
        with self._tracer.start_as_current_span(
            name,
            kind=kind,
            attributes=facts,
            record_exception=self._content,
            set_status_on_exception=False,
        ) as span:
            try:
                yield _Work(span, content=self._content)
            except Exception as exc:
                span.set_attribute(names.ERROR_TYPE, name_of(exc))
                span.set_status(Status(StatusCode.ERROR, name_of(exc)))
                raise


class _Work:
    def __init__(self, span: Span, *, content: bool) -> None:
        self._span = span
        self._content = content
        self.labels: dict[str, AttributeValue] = {}
        self.tokens: dict[str, int] = {}

    def answered(self, response: AgentResponse[Any]) -> None:
        usage = response.usage
        self._span.set_attributes(
            {
                names.STATUS: str(response.status),
                names.INPUT_TOKENS: usage.input_tokens,
                names.OUTPUT_TOKENS: usage.output_tokens,
            }
        )
        if self._content:
            self._span.set_attribute(names.OUTPUT_MESSAGES, _messages(response.messages))

    def replied(self, reply: ModelReply) -> None:
        usage = reply.usage
        self.tokens = {"input": usage.input_tokens, "output": usage.output_tokens}
        if reply.model:
            self.labels[names.RESPONSE_MODEL] = reply.model
        if reply.replied_by:  # a wrapper has chosen it: the request was for its first model
            self.labels |= _model_of(reply.replied_by)
            self._span.update_name(_chat_name(reply.replied_by))
        self._span.set_attributes(
            {
                **self.labels,
                names.FINISH_REASONS: (str(reply.stop_reason),),
                names.INPUT_TOKENS: usage.input_tokens,
                names.OUTPUT_TOKENS: usage.output_tokens,
                names.CACHE_READ_TOKENS: usage.cache_read_tokens,
                names.CACHE_WRITE_TOKENS: usage.cache_write_tokens,
                names.THINKING_TOKENS: usage.thinking_tokens,
            }
        )
        if reply.id is not None:
            self._span.set_attribute(names.RESPONSE_ID, reply.id)
        if self._content:
            self._span.set_attribute(names.OUTPUT_MESSAGES, _messages([reply.message]))

    def returned(self, result: ToolResult) -> None:
        if result.is_error:
            self._span.set_attribute(names.ERROR_TYPE, "tool_error")
            self._span.set_status(Status(StatusCode.ERROR))
        if self._content:
            self._span.set_attribute(names.TOOL_RESULT, _json(result.content))


def _chat_name(model: str) -> str:
    return f"{names.CHAT} {model.partition(':')[2]}"


def _model_of(name: str) -> dict[str, AttributeValue]:
    provider, _, model = name.partition(":")
    return {names.PROVIDER: names.PROVIDERS.get(provider, provider), names.REQUEST_MODEL: model}


def _settings(request: ModelRequest) -> dict[str, AttributeValue]:
    settings = request.settings
    found: dict[str, AttributeValue | None] = {
        names.REQUEST_TEMPERATURE: settings.temperature,
        names.REQUEST_TOP_P: settings.top_p,
        names.REQUEST_MAX_TOKENS: settings.max_tokens,
        names.REQUEST_SEED: settings.seed,
        names.REQUEST_STOP: settings.stop or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _messages(messages: Iterable[ChatMessage]) -> str:
    return _json([{"role": str(one.role), "parts": [*_parts(one)]} for one in messages])


def _parts(message: ChatMessage) -> Iterator[JSONValue]:
    for part in message.parts:
        match part:
            case TextPart():
                yield {"type": "text", "content": part.text}
            case ThinkingPart():
                yield {"type": "reasoning", "content": part.text}
            case ToolCall():
                yield {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments}
            case ToolResult():
                yield {"type": "tool_call_response", "id": part.call_id, "response": part.content}
            case _:
                yield {"type": part.kind}


def _json(value: JSONValue) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))

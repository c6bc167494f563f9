"""Agents in OpenTelemetry: the SDK's own exporter in memory receives their spans and metrics."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics

from agentic.core.agents import ChatAgent, observe_agents, tool, trace_agents
from agentic.core.agents.agent import last_response
from agentic.core.agents.tracing import names
from agentic.core.llm import (
    ChatMessage,
    FallbackModel,
    ModelReply,
    ModelSettings,
    OverloadedError,
    ScriptedModel,
    TokenUsage,
    ToolCall,
)

SECRET = "swordfish"


@dataclass
class Receiver:
    """What OpenTelemetry has received."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader
    tracers: TracerProvider
    meters: MeterProvider

    def begin(self, *, content: bool | None = None) -> None:
        """Trace agents to it."""
        trace_agents(content=content, tracer_provider=self.tracers, meter_provider=self.meters)

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans that have ended, in the order of their start."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def tree(self) -> dict[str, str | None]:
        """Return the name of each span, and its parent's."""
        known = {span.context.span_id: span.name for span in self.spans if span.context}
        return {span.name: None if span.parent is None else known[span.parent.span_id] for span in self.spans}

    def span(self, name: str) -> ReadableSpan:
        """Return the only span of this name."""
        (found,) = (span for span in self.spans if span.name == name)
        return found

    def text(self) -> str:
        """Return all that was received, as text."""
        return "".join(span.to_json() for span in self.spans) + self._metrics()

    def points(self, name: str) -> list[Any]:
        """Return the data points of a metric."""
        data = json.loads(self._metrics())
        scopes = [scope for part in data["resource_metrics"] for scope in part["scope_metrics"]]
        return [
            point
            for scope in scopes
            for metric in scope["metrics"]
            if metric["name"] == name
            for point in metric["data"]["data_points"]
        ]

    def _metrics(self) -> str:
        data = self.reader.get_metrics_data()
        return '{"resource_metrics": []}' if data is None else data.to_json()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider([reader])
    yield Receiver(exporter, reader, tracers, meters)
    observe_agents(None)
    tracers.shutdown()
    meters.shutdown()


@tool
async def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word} means {SECRET}"


async def test_a_reply_of_a_fallback_is_reported_under_the_model_that_gave_it(receiver: Receiver) -> None:
    receiver.begin()
    first = ScriptedModel([OverloadedError("a:first", "no")], name="a:first")
    model = FallbackModel(first, ScriptedModel(["Hello."], name="google:second"))
    response = await ChatAgent(model, name="host").run("Hi")
    assert list(response.usage.models) == ["google:second"]
    span = dict(receiver.span("chat second").attributes or {})
    assert (span[names.REQUEST_MODEL], span[names.PROVIDER]) == ("second", "gcp.gemini")
    for point in receiver.points(names.TOKEN_USAGE) + receiver.points(names.DURATION):
        assert point["attributes"][names.REQUEST_MODEL] == "second"
        assert point["attributes"][names.PROVIDER] == "gcp.gemini"


async def test_spans_have_the_names_and_parents_of_nested_agents_and_tools(receiver: Receiver) -> None:
    receiver.begin()
    call = ToolCall(id="c1", name="look_up", arguments={"word": "x"})
    reader = ChatAgent(ScriptedModel([call, "Found."], name="a:small"), name="reader", tools=[look_up])
    ask = ToolCall(id="c2", name="reader", arguments={"task": "find x"})
    host = ChatAgent(ScriptedModel([ask, "Done."], name="google:large"), name="host", tools=[reader])
    response = await last_response(host.run_stream("Hi"))
    assert receiver.tree() == {
        "invoke_agent host": None,
        "chat large": "invoke_agent host",
        "execute_tool reader": "invoke_agent host",
        "invoke_agent reader": "execute_tool reader",
        "chat small": "invoke_agent reader",
        "execute_tool look_up": "invoke_agent reader",
    }
    assert len(receiver.spans) == 8
    assert dict(receiver.span("execute_tool look_up").attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look_up",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.agent.name": "reader",
        "gen_ai.conversation.id": (receiver.span("invoke_agent reader").attributes or {})[
            "gen_ai.conversation.id"
        ],
    }
    facts = receiver.span("invoke_agent host").attributes or {}
    assert facts["gen_ai.conversation.id"] == response.thread_id
    assert facts["agentic.response.status"] == "complete"
    providers = {str((span.attributes or {}).get("gen_ai.provider.name")) for span in receiver.spans}
    assert providers == {"None", "a", "gcp.gemini"}


async def test_a_request_has_its_settings_and_the_tokens_of_its_reply(receiver: Receiver) -> None:
    receiver.begin()
    usage = TokenUsage(
        input_tokens=100, output_tokens=20, cache_read_tokens=80, cache_write_tokens=5, thinking_tokens=7
    )
    reply = ModelReply(message=ChatMessage.assistant("Hi."), usage=usage, model="m-2026", id="r1")
    settings = ModelSettings(temperature=0.5, max_tokens=99, stop=("END",))
    agent = ChatAgent(ScriptedModel([reply], name="openai:m"), name="host", settings=settings)
    await agent.run("Hello")
    facts = dict(receiver.span("chat m").attributes or {})
    facts.pop("gen_ai.conversation.id")
    assert facts == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.agent.name": "host",
        "gen_ai.request.model": "m",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 99,
        "gen_ai.request.stop_sequences": ("END",),
        "gen_ai.response.model": "m-2026",
        "gen_ai.response.id": "r1",
        "gen_ai.response.finish_reasons": ("end",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 80,
        "gen_ai.usage.cache_creation.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 7,
    }
    sums = {
        point["attributes"]["gen_ai.token.type"]: point["sum"]
        for point in receiver.points("gen_ai.client.token.usage")
    }
    assert sums == {"input": 100, "output": 20}
    (duration,) = receiver.points("gen_ai.client.operation.duration")
    assert duration["count"] == 1
    assert duration["attributes"] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m-2026",
    }


async def test_errors_of_models_and_tools_have_their_class_alone(receiver: Receiver) -> None:
    receiver.begin()

    @tool
    async def fail() -> str:
        """Fail."""
        raise OSError(f"cannot read {SECRET}")

    call = ToolCall(id="1", name="fail", arguments={})
    model = ScriptedModel([call, OverloadedError("a:b", SECRET)], name="a:b")
    agent = ChatAgent(model, name="host", tools=[fail])
    with pytest.raises(OverloadedError):
        await agent.run("Hello")
    failed = {
        span.name: (span.attributes or {})["error.type"]
        for span in receiver.spans
        if not span.status.is_unset
    }
    assert failed == {
        "invoke_agent host": "OverloadedError",
        "execute_tool fail": "tool_error",
        "chat b": "OverloadedError",
    }
    kinds = [
        point["attributes"].get("error.type") for point in receiver.points("gen_ai.client.operation.duration")
    ]
    assert sorted(map(str, kinds)) == ["None", "OverloadedError"]
    assert SECRET not in receiver.text()


@pytest.mark.parametrize(
    ("content", "environment", "is_there"),
    [(None, "", False), (False, "true", False), (None, "true", True), (True, "", True)],
)
async def test_content_is_in_spans_only_if_it_is_asked_for(
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    content: bool | None,  # a parameter of the test
    environment: str,
    is_there: bool,
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", environment)
    receiver.begin(content=content)
    call = ToolCall(id="c1", name="look_up", arguments={"word": "argument-words"})
    model = ScriptedModel([call, "answer-words"], name="a:b")
    agent = ChatAgent(model, "instruction-words", name="host", tools=[look_up])
    await agent.run("input-words")
    text = receiver.text()
    for words in ("instruction-words", "input-words", "argument-words", SECRET, "answer-words"):
        assert (words in text) is is_there
    if is_there:
        facts = receiver.span("execute_tool look_up").attributes or {}
        assert json.loads(str(facts["gen_ai.tool.call.arguments"])) == {"word": "argument-words"}
        last = [span for span in receiver.spans if span.name == "chat b"][-1].attributes or {}
        assert [one["role"] for one in json.loads(str(last["gen_ai.input.messages"]))] == [
            "user",
            "assistant",
            "tool",
        ]
        assert json.loads(str(last["gen_ai.output.messages"]))[0]["parts"] == [
            {"type": "text", "content": "answer-words"}
        ]


async def test_without_an_observer_no_span_is_made(receiver: Receiver) -> None:
    receiver.begin()
    observe_agents(None)
    await ChatAgent(ScriptedModel(["Hi."]), name="host").run("Hello")
    assert receiver.spans == []


def test_the_names_are_those_of_the_conventions() -> None:
    known = {
        value
        for module in (gen_ai_attributes, gen_ai_metrics)
        for name, value in vars(module).items()
        if name.startswith("GEN_AI") and isinstance(value, str)
    }
    ours = {
        value for name, value in vars(names).items() if name.isupper() and str(value).startswith("gen_ai.")
    }
    assert ours <= known


def test_agents_are_imported_without_opentelemetry() -> None:
    code = (
        "import sys\n"
        "from agentic.core.agents import ChatAgent, observe_agents, trace_agents\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
        "sys.modules['opentelemetry'] = None\n"
        "try:\n"
        "    trace_agents()\n"
        "except Exception as exc:\n"
        "    print(exc)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "opentelemetry-api is not installed; run `pip install 'agentic-pipelines[otel]'`\n"

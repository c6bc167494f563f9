"""Guards of answers: the words of a refused answer go nowhere, unless the agent keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel
from tests.unit.core.llm.wrappers.streams import PiecewiseModel

from agentic.core import WorkflowBuilder
from agentic.core.agents import (
    AgentChunk,
    AgentStoppedError,
    AgentThread,
    ChatAgent,
    ChunkKind,
    Guard,
    ResponseStatus,
    tool,
)
from agentic.core.agents.agent import last_response
from agentic.core.llm import (
    ChatMessage,
    FallbackModel,
    OverloadedError,
    ScriptedModel,
    ThinkingPart,
    ToolCall,
)

SECRET = "swordfish"
REASON = "the answer is confidential"


class Discreet(Guard):
    """Refuses answers with the secret."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def check_answer(self, message: ChatMessage) -> str | None:
        self.seen.append(message.text)
        return REASON if SECRET in f"{message.text} {message.tool_calls}" else None


@tool
async def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word} is known"


def telling(*lines: Any, **options: Any) -> ChatAgent[Any]:
    return ChatAgent(ScriptedModel(lines), name="host", guards=[Discreet()], **options)


async def pieces_of(agent: ChatAgent[Any], thread: AgentThread) -> list[AgentChunk]:
    return [piece async for piece in agent.run_stream("Tell me!", thread)]


def shown(pieces: Sequence[AgentChunk]) -> str:
    return json.dumps([repr(piece) for piece in pieces])


async def test_the_words_of_a_refused_answer_are_in_no_piece_no_response_and_no_thread() -> None:
    thought = ChatMessage.assistant(f"It is {SECRET}.", ThinkingPart(text=f"They ask for {SECRET}."))
    agent = telling(thought, "It is a fish.")
    thread = agent.new_thread()
    pieces = await pieces_of(agent, thread)
    response = pieces[-1].response
    assert response is not None
    assert (response.status, response.reason) == (ResponseStatus.STOPPED, REASON)
    assert response.usage.requests == 1
    assert [piece.kind for piece in pieces] == [ChunkKind.STARTED, ChunkKind.FINISHED]
    assert SECRET not in shown(pieces)
    assert SECRET not in thread.serialize().decode()
    # The next turn begins well: the model gets no empty message.
    assert (await agent.run("And the word?", thread)).text == "It is a fish."
    model = agent.setup.model
    assert isinstance(model, ScriptedModel)
    assert [message.role for message in model.requests[1].messages] == ["user", "user"]


async def test_the_error_of_a_refused_answer_has_the_work_before_it_and_not_its_words() -> None:
    call = ToolCall(id="1", name="look_up", arguments={"word": "fish"})
    first = ChatMessage.assistant("I look it up.", call)
    agent = telling(first, f"It is {SECRET}.", tools=[look_up])
    with pytest.raises(AgentStoppedError, match=REASON) as stopped:
        await agent.run("Tell me!")
    response = stopped.value.response
    assert [message.role for message in response.messages] == ["assistant", "tool"]
    assert SECRET not in f"{stopped.value!r} {stopped.value} {response.model_dump_json()}"


async def test_an_accepted_answer_is_said_once_it_is_checked() -> None:
    model = PiecewiseModel(["It is ", "a fish."])
    agent = ChatAgent(model, name="host", guards=[guard := Discreet()])
    thread = agent.new_thread()
    pieces = await pieces_of(agent, thread)
    kinds = [ChunkKind.STARTED, ChunkKind.TEXT, ChunkKind.TEXT, ChunkKind.MESSAGE, ChunkKind.FINISHED]
    assert [piece.kind for piece in pieces] == kinds
    assert "".join(piece.text for piece in pieces) == "It is a fish."
    assert guard.seen == ["It is a fish."]


async def test_a_stream_that_begins_again_says_only_the_pieces_that_count() -> None:
    broken = PiecewiseModel([f"It is {SECRET}", OverloadedError("a:b", "busy")], name="a:b")
    agent = ChatAgent(
        FallbackModel(broken, ScriptedModel(["It is a fish."])), name="host", guards=[Discreet()]
    )
    pieces = await pieces_of(agent, agent.new_thread())
    assert "".join(piece.text for piece in pieces) == "It is a fish."
    assert ChunkKind.RESTARTED not in [piece.kind for piece in pieces]


async def test_words_beside_calls_of_tools_are_said_because_they_are_no_answer() -> None:
    call = ToolCall(id="1", name="look_up", arguments={"word": "fish"})
    agent = telling(ChatMessage.assistant("I look it up.", call), "It is known.", tools=[look_up])
    pieces = await pieces_of(agent, agent.new_thread())
    said = [piece.text for piece in pieces if piece.kind is ChunkKind.TEXT]
    assert said == ["I look it up.", "It is known."]


async def test_agents_without_a_check_of_answers_speak_at_once() -> None:
    class Other(Guard):
        async def check_call(self, call: ToolCall) -> str | None:
            return None

    order: list[str] = []
    model = PiecewiseModel(["one", lambda: order.append("asked for more"), "two"])
    async for piece in ChatAgent(model, guards=[Other()]).run_stream("Go!"):
        order.extend([piece.text] if piece.text else [])
    assert order.index("asked for more") < order.index("two")


class Fish(BaseModel):
    """A fish."""

    name: str


async def test_a_structured_answer_is_checked_before_its_schema_and_once() -> None:
    guard = Discreet()
    model = ScriptedModel(['{"title": "x"}', '{"name": "cod"}', f'{{"name": "{SECRET}"}}'])
    agent = ChatAgent(model, name="host", output_type=Fish, guards=[guard])
    assert (await agent.run("Which?")).output == Fish(name="cod")
    assert guard.seen == ['{"title": "x"}', '{"name": "cod"}']
    with pytest.raises(AgentStoppedError, match=REASON):
        await agent.run("Which?")


async def test_a_refused_answer_by_the_output_tool_is_left_out_too() -> None:
    script = [ToolCall(id="1", name="final_output", arguments={"name": SECRET})]
    model = ScriptedModel(script, structured="tool")
    agent = ChatAgent(model, name="host", output_type=Fish, guards=[Discreet()])
    thread = agent.new_thread()
    with pytest.raises(AgentStoppedError, match=REASON):
        await agent.run("Which?", thread)
    assert SECRET not in thread.serialize().decode()


async def test_an_agent_that_keeps_refused_answers_has_them_in_its_thread_and_streams_them() -> None:
    agent = telling(f"It is {SECRET}.", keeps_refused=True)
    thread = agent.new_thread()
    pieces = await pieces_of(agent, thread)
    assert SECRET in shown(pieces[:-1])
    assert SECRET in thread.serialize().decode()
    assert pieces[-1].response is not None
    assert pieces[-1].response.reason == REASON
    built = ChatAgent.builder().model(ScriptedModel([SECRET])).guard(Discreet()).keep_refused().build()
    assert SECRET in str((await last_response(built.run_stream("Go!"))).messages)


async def test_the_events_of_a_graph_do_not_have_the_words_of_a_refused_answer() -> None:
    flow = WorkflowBuilder("w").set_start(telling(f"It is {SECRET}.")).build()
    stream = flow.run_stream("Tell me!")
    events = [repr(event) async for event in stream]
    with pytest.raises(AgentStoppedError, match=REASON):
        await stream.result()
    assert SECRET not in "".join(events)


async def test_a_nested_agent_tells_its_caller_only_why_its_answer_was_refused() -> None:
    model = ScriptedModel([ToolCall(id="1", name="host", arguments={"task": "go"}), "Never mind."])
    boss = ChatAgent(model, name="boss", tools=[telling(f"It is {SECRET}.")])
    pieces = await pieces_of(boss, boss.new_thread())
    assert SECRET not in shown(pieces)
    assert REASON in str(model.requests[1].messages[-1].tool_results[0].content)


async def test_an_answer_whose_guard_fails_is_not_said_and_is_asked_for_again() -> None:
    class Failing(Discreet):
        async def check_answer(self, message: ChatMessage) -> str | None:
            if not self.seen:
                self.seen.append(message.text)
                raise ConnectionError("the judge is away")
            return await super().check_answer(message)

    agent = ChatAgent(ScriptedModel(["One.", "Two."]), name="host", guards=[Failing()])
    thread = agent.new_thread()
    with pytest.raises(ConnectionError):
        await agent.run("Tell me!", thread)
    assert b"One." not in thread.serialize()
    assert (await agent.run((), thread)).text == "Two."


@pytest.mark.parametrize("method", ["check_input", "check_call", "check_answer"])
@pytest.mark.parametrize("found", [True, False, 3])
async def test_a_guard_that_gives_no_reason_fails_the_run_and_leaves_its_thread_whole(
    method: str, found: object
) -> None:
    guard = Guard()
    setattr(guard, method, lambda _: found)
    call = ToolCall(id="1", name="look_up", arguments={"word": "a"})
    agent = ChatAgent(ScriptedModel([call, "done", "done"]), name="host", tools=[look_up], guards=[guard])
    thread = agent.new_thread()
    with pytest.raises(TypeError, match=f"else the reason as a text, not {found}"):
        await agent.run("go", thread)
    restored = AgentThread.deserialize(thread.serialize())
    setattr(guard, method, lambda _: None)  # a plain method is as good
    assert (await agent.run("go", restored)).text == "done"

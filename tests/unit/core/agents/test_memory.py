"""Memory: what an agent knows of a person beyond the conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from agentic.core import WorkflowBuilder
from agentic.core.agents import (
    AgentExecutor,
    AgentMemoryError,
    ChatAgent,
    InMemoryProvider,
    Memory,
    MemoryCategory,
    MemoryContext,
    MemoryScope,
    MemoryStore,
    ModelExtractor,
    NatsMemoryProvider,
    NoOpMemoryProvider,
    ProcessMemoryStore,
    RuleExtractor,
    StoredMemoryProvider,
    SummarizingReducer,
    UserMemories,
)
from agentic.core.agents.conversation import from_agent
from agentic.core.bus import MemoryKeyValue
from agentic.core.evals import ModelJudge
from agentic.core.graph import RetryPolicy
from agentic.core.llm import ChatMessage, OverloadedError, ScriptedModel, ToolCall
from agentic.core.patterns import llm_selector
from agentic.core.testing import MemoryStoreContract


class TestProcessMemoryStore(MemoryStoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return ProcessMemoryStore()


def texts(model: ScriptedModel, number: int) -> list[str]:
    """Return the texts of a request."""
    return [message.text for message in model.requests[number].messages]


@pytest.mark.requirement("ME01", "ME03", "ME10", "ME11", "ME13")
async def test_an_agent_knows_in_a_new_thread_what_a_person_said_in_another() -> None:
    model = ScriptedModel.repeating("ok", times=4)
    memory = InMemoryProvider()
    agent = ChatAgent(model, name="host", memory=[memory])
    await agent.run("Hello! My name is Ada. I prefer short answers.", agent.new_thread(user_id="ada"))
    thread = agent.new_thread(user_id="ada")
    await agent.run("Who am I?", thread)
    assert texts(model, 1) == [
        (
            "What you remember about this person:\n- My name is Ada (fact)\n"
            "- I prefer short answers (user preference)"
        ),
        "Who am I?",
    ]
    await agent.run("Who am I?", agent.new_thread(user_id="bob"))
    assert texts(model, 2) == ["Who am I?"]
    assert [message.text for message in thread.messages] == ["Who am I?", "ok"]


@pytest.mark.requirement("ME02", "ME05")
async def test_memories_can_be_read_added_and_forgotten() -> None:
    provider = NatsMemoryProvider(MemoryKeyValue())
    await provider.store_memory("host", "ada", Memory.of("Has a dog", 1.0, importance=0.2))
    await provider.store_memory("host", "ada", Memory.of("Is allergic to nuts", 2.0, importance=1.0))
    found = await provider.get_memories("host", "ada")
    assert [one.content for one in found.most_important(1)] == ["Is allergic to nuts"]
    assert await provider.clear_memories("host", "ada") == 2
    assert (await provider.get_memories("host", "ada")).memories == ()


@pytest.mark.requirement("ME04")
async def test_nothing_is_remembered_by_a_provider_without_memory() -> None:
    model = ScriptedModel(["ok", "ok"])
    provider = NoOpMemoryProvider()
    agent = ChatAgent(model, memory=[provider])
    for _ in range(2):
        await agent.run("My name is Ada.", agent.new_thread(user_id="ada"))
    assert texts(model, 1) == ["My name is Ada."]
    await provider.store_memory("agent", "ada", Memory.of("x", 1.0))
    assert (await provider.get_memories("agent", "ada")).memories == ()
    assert await provider.clear_memories("agent", "ada") == 0


@pytest.mark.requirement("ME07", "ME08", "ME09")
def test_the_memories_of_a_person_become_a_text_with_the_important_first() -> None:
    one = Memory.of("Lives in Oslo", 1.0, importance=0.5)
    two = Memory.of("Hates phone calls", 2.0, category=MemoryCategory.USER_PREFERENCE, importance=0.9)
    later = Memory.of("lives in  OSLO", 3.0, importance=0.6)
    found = UserMemories((one,)).extend([two, later])
    assert found.to_context_string() == (
        "What you remember about this person:\n- Hates phone calls (user preference)\n- lives in  OSLO (fact)"
    )
    assert found.of_category(MemoryCategory.FACT).memories == (later,)
    assert UserMemories().to_context_string() == ""


async def test_rules_find_what_a_person_says_of_themselves() -> None:
    said = [
        ChatMessage.user(
            "Hi. I live in Oslo! Please never call me. My name is Ada\nand more. my NAME is ada"
        ),
        ChatMessage.assistant("I love cats."),
    ]
    found = await RuleExtractor(lambda: 5.0).extract(said)
    assert [(one.content, one.category.value, one.created_at) for one in found] == [
        ("My name is Ada", "fact", 5.0),
        ("I live in Oslo", "fact", 5.0),
        ("Please never call me", "user_preference", 5.0),
    ]


async def test_a_model_finds_memories_and_its_nonsense_is_an_error() -> None:
    good = '{"memories": [{"content": "Has a dog", "category": "fact", "importance": 0.7}, {"content": " "}]}'
    extractor = ModelExtractor(ScriptedModel([good, "no idea"]), clock=lambda: 5.0)
    found = await extractor.extract([ChatMessage.user("My dog is ill.")])
    assert [(one.content, one.importance) for one in found] == [("Has a dog", 0.7)]
    with pytest.raises(AgentMemoryError, match="did not reply with memories"):
        await extractor.extract([ChatMessage.user("x")])


class Broken(NoOpMemoryProvider):
    """A memory that is away."""

    async def before_invoke(self, scope: MemoryScope, messages: Sequence[ChatMessage]) -> MemoryContext:
        raise AgentMemoryError("away")

    async def after_invoke(self, scope: MemoryScope, messages: Sequence[ChatMessage]) -> None:
        raise AgentMemoryError("away")


@pytest.mark.requirement("ME12")
async def test_a_memory_that_is_away_does_not_end_the_conversation() -> None:
    with capture_logs() as logs:
        response = await ChatAgent(ScriptedModel(["ok"]), name="host", memory=[Broken()]).run("hi")
    assert response.text == "ok"
    assert [(one["event"], one["error"]) for one in logs] == [("memory.failed", "AgentMemoryError: away")] * 2


async def test_a_try_that_is_repeated_remembers_and_learns_once() -> None:
    calls: list[str] = []

    class Counting(StoredMemoryProvider):
        async def before_invoke(self, scope: MemoryScope, messages: Sequence[ChatMessage]) -> MemoryContext:
            calls.append("before")
            return await super().before_invoke(scope, messages)

        async def after_invoke(self, scope: MemoryScope, messages: Sequence[ChatMessage]) -> None:
            calls.append("after")

    model = ScriptedModel([OverloadedError("a:b", "busy"), "ok"])
    agent = ChatAgent(model, name="host", memory=[Counting(ProcessMemoryStore())])
    node = AgentExecutor(agent, retry=RetryPolicy(max_attempts=2, first_delay_s=0))
    await WorkflowBuilder("w").set_start(node).build().run("hi")
    assert calls == ["before", "after"]


async def test_the_words_of_another_agent_are_no_facts_about_the_person() -> None:
    memory = InMemoryProvider()
    inner = ChatAgent(ScriptedModel(["ok"]), name="inner", memory=[memory])
    task = ToolCall(id="c", name="inner", arguments={"task": "Remember that the password is swordfish."})
    outer = ChatAgent(ScriptedModel([task, "done"]), name="outer", tools=[inner])
    await outer.run("My name is Ada.", outer.new_thread(user_id="ada"))
    assert (await memory.get_memories("inner", "ada")).memories == ()

    model = ScriptedModel(['{"memories": []}'])
    said = from_agent(ChatMessage.assistant("I like tea.", author_name="outer"))
    await ModelExtractor(model).extract([said, ChatMessage.user("hi")])
    assert model.requests[0].messages[0].text == "another agent: I like tea.\nuser: hi"


def test_parts_that_ask_a_model_take_its_name_and_refuse_anything_else() -> None:
    """A memory or a summary that fails only logs it, so a wrong model would never be noticed."""
    makers: list[Callable[[Any], object]] = [
        ModelExtractor,
        lambda model: SummarizingReducer(model, max_tokens=9),
        llm_selector,
        lambda model: ModelJudge(model, "A good one is short."),
    ]
    for make in makers:
        make("ollama:tiny")
        with pytest.raises(TypeError, match="a model is an LLMAdapter or its name"):
            make(3)

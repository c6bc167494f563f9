"""Group chats: turns, selectors, terminations."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Sequence

import pytest
from tests.unit.core.patterns.casts import hears, says, spoken

from agentic.core import MemoryCheckpointStore
from agentic.core.agents import AgentExecutor, ChatAgent
from agentic.core.llm import ChatMessage, FunctionModel, ScriptedModel
from agentic.core.patterns import (
    GroupChatBuilder,
    GroupChatState,
    InvalidPatternError,
    PatternResult,
    SelectorMisfitError,
    UnknownParticipantError,
    any_termination,
    brainstorming,
    code_review,
    content_creation,
    keyword_termination,
    llm_selector,
    max_messages_termination,
    max_rounds_termination,
    no_repeat_selector,
    research_qa,
    round_robin_selector,
    smart_selector,
)


def said(*texts: str) -> list[ChatMessage]:
    return [ChatMessage.user("go"), *(ChatMessage.assistant(text, author_name="a") for text in texts)]


@pytest.mark.requirement("PA10", "PA12")
async def test_everybody_hears_every_answer() -> None:
    heard: list[list[str]] = []
    chat = (
        GroupChatBuilder("g")
        .participants([hears(name, heard, f"by {name}") for name in "abc"])
        .with_max_iterations(4)
        .build()
    )
    result = (await chat.run("go")).output(PatternResult)
    assert heard[3] == ["go", "by a", "by b", "by c"]
    assert [author for author, _ in spoken(result)] == [None, "a", "b", "c", "a"]
    assert (result.reason, result.round_count) == ("max_iterations: 4 turns", 4)


@pytest.mark.requirement("PA10")
async def test_twenty_turns_of_five_cost_at_most_three_tenths_of_a_second() -> None:
    """In memory; CPU time of this process."""
    cast = [ChatAgent(FunctionModel(lambda _: "word " * 52), name=name) for name in "abcde"]
    flow, spent = GroupChatBuilder("g").participants(cast).with_max_iterations(20).build(), []
    for _ in range(3):
        begun = time.process_time()
        assert (await flow.run("go")).output(PatternResult).round_count == 20
        spent.append(time.process_time() - begun)
    assert min(spent) <= 0.3


@pytest.mark.requirement("PA11", "PA13", "PA18")
async def test_a_selector_sees_participants_conversation_and_round() -> None:
    seen: list[GroupChatState] = []

    def choose(state: GroupChatState) -> str | None:
        seen.append(state)
        return round_robin_selector(state) if state.current_round < 3 else None

    parts = [says("a", "1", "3", description="counts"), says("b", "2")]
    chat = GroupChatBuilder("g").participants(parts).with_orchestrator_func(choose).build()
    result = (await chat.run("go")).output(PatternResult)
    assert [author for author, _ in spoken(result)] == [None, "a", "b", "a"]
    assert result.reason == "the orchestrator ended it"
    assert dict(seen[0].participants) == {"a": "counts", "b": ""}
    assert [(len(one.conversation), one.current_round, one.last_speaker) for one in seen] == [
        (1, 0, None),
        (2, 1, "a"),
        (3, 2, "b"),
        (4, 3, "a"),
    ]


@pytest.mark.requirement("PA14")
@pytest.mark.parametrize(
    ("last", "text", "next_one"),
    [
        (None, "go", "researcher"),
        ("researcher", "found one source", "researcher"),
        ("researcher", "Research complete.", "writer"),
        ("writer", "A text", "reviewer"),
        ("reviewer", "needs more research", "researcher"),
        ("reviewer", "too long", "writer"),
    ],
)
def test_the_smart_selector_follows_the_content(last: str | None, text: str, next_one: str) -> None:
    people = {"writer": "", "reviewer": "", "researcher": ""}
    conversation = (ChatMessage.user("go"), ChatMessage.assistant(text, author_name=last))
    state = GroupChatState(participants=people, conversation=conversation, last_speaker=last)
    assert smart_selector(state) == next_one


def test_the_smart_selector_takes_turns_where_it_knows_nobody() -> None:
    state = GroupChatState(participants={"x": "", "y": ""}, conversation=(), current_round=1)
    assert smart_selector(state) == "y"


@pytest.mark.requirement("PA15")
async def test_no_repeat_gives_the_turn_to_the_next_one() -> None:
    chat = (
        GroupChatBuilder("g")
        .participants([says("a", "1", "3"), says("b", "2", "4")])
        .with_orchestrator_func(no_repeat_selector(lambda _: "a"))
        .with_max_iterations(4)
        .build()
    )
    result = (await chat.run("go")).output(PatternResult)
    assert [author for author, _ in spoken(result)[1:]] == ["a", "b", "a", "b"]


async def test_a_selector_may_return_the_work_of_another_one() -> None:
    async def last(state: GroupChatState) -> str:
        return list(state.participants)[-1]

    def choose(state: GroupChatState) -> Awaitable[str]:
        return last(state)

    chat = (
        GroupChatBuilder("g")
        .participants([says("a", "1"), says("b", "2")])
        .with_orchestrator_func(choose)
        .with_max_iterations(1)
        .build()
    )
    assert spoken((await chat.run("go")).output(PatternResult)) == [(None, "go"), ("b", "2")]


async def test_no_repeat_with_one_participant_is_an_error_that_says_so() -> None:
    chat = (
        GroupChatBuilder("g")
        .participants([says("a", "1")])
        .with_orchestrator_func(no_repeat_selector(round_robin_selector))
        .build()
    )
    with pytest.raises(SelectorMisfitError, match="'a' is alone"):
        await chat.run("go")


@pytest.mark.requirement("PA16")
async def test_a_model_names_the_next_speaker_and_gets_a_second_chance() -> None:
    model = ScriptedModel(["'B'.", "I think c should speak now.", "either a or b", "both", "nobody", "b"])
    chat = (
        GroupChatBuilder("g")
        .participants([says("a", "x"), says("b", "y", "z"), says("c", "w")])
        .with_orchestrator_func(llm_selector(model))
        .with_max_iterations(4)
        .build()
    )
    result = (await chat.run("go")).output(PatternResult)
    # The third time it names nobody, also at the second try: the one after c speaks.
    assert [author for author, _ in spoken(result)[1:]] == ["b", "c", "a", "b"]
    assert "- a\n- b\n- c" in model.requests[0].messages[0].text
    assert "You answered 'either a or b'" in model.requests[3].messages[0].text


async def test_a_selector_that_names_a_stranger_is_an_error_with_the_known_names() -> None:
    chat = GroupChatBuilder("g").participants([says("a")]).with_orchestrator_func(lambda _: "zoe").build()
    with pytest.raises(UnknownParticipantError, match=r"'zoe', who does not take part \(known: a\)"):
        await chat.run("go")


@pytest.mark.requirement("PA10")
async def test_an_agent_manages_the_chat_and_ends_it_with_an_answer() -> None:
    def decided(**facts: object) -> str:
        return json.dumps(facts)

    manager = says(
        "boss",
        decided(next_speaker="B"),
        decided(next_speaker="zoe"),  # after b comes a
        decided(is_finished=True, final_message="We take blue."),
    )
    chat = (
        GroupChatBuilder("g")
        .participants([says("a", "one"), says("b", "two")])
        .with_orchestrator_agent(manager)
        .build()
    )
    result = (await chat.run("Which?")).output(PatternResult)
    assert spoken(result) == [(None, "Which?"), ("b", "two"), ("a", "one"), ("boss", "We take blue.")]
    assert (result.usage.requests, result.round_count) == (5, 2)


@pytest.mark.requirement("PA17")
@pytest.mark.parametrize(
    ("condition", "ends_after", "why"),
    [
        (max_messages_termination(3), 2, "3 messages"),
        (max_rounds_termination(3), 3, "3 rounds"),
        (keyword_termination("FOUR"), 4, "a participant said 'FOUR'"),
        (keyword_termination("four", author="b"), 9, None),
        (keyword_termination("two") | max_rounds_termination(3), 2, "a participant said 'two'"),
        (keyword_termination("one") & max_rounds_termination(3), 3, "a participant said 'one' and 3 rounds"),
        (any_termination(max_rounds_termination(5), keyword_termination("three")), 3, "a participant said"),
        (any_termination([max_rounds_termination(1)]), 1, "1 rounds"),
        (max_rounds_termination(2) & (lambda said: said[-1].text == "three"), 3, "2 rounds and a condition"),
    ],
)
def test_terminations_combine(condition: object, ends_after: int, why: str | None) -> None:
    words = ["one", "two", "three", "four", "five"]
    holds = [count for count in range(len(words) + 1) if condition(said(*words[:count]))]  # type: ignore[operator]
    assert min(holds, default=9) == ends_after
    if why is not None:
        assert why in condition.reason(said(*words[:ends_after]))  # type: ignore[attr-defined]


@pytest.mark.requirement("PA17", "PA18")
async def test_a_function_can_end_the_chat_and_the_words_of_the_request_do_not() -> None:
    def enough(conversation: Sequence[ChatMessage]) -> bool:
        return len(conversation) >= 4

    parts = [says("a", "1", "3", "5"), says("b", "2", "4")]
    condition = keyword_termination("stop") | enough
    chat = GroupChatBuilder("g").participants(parts).with_termination_condition(condition).build()
    result = (await chat.run("do not stop")).output(PatternResult)
    assert (result.round_count, result.reason) == (3, "enough")


async def test_terminations_count_this_request_alone_also_in_a_long_thread() -> None:
    def line(_: object) -> str:
        return "yes"

    parts = [ChatAgent(FunctionModel(line), name=name) for name in "ab"]
    chat = (
        GroupChatBuilder("g")
        .participants(parts)
        .with_termination_condition(max_rounds_termination(2))
        .build()
    )
    agent = chat.as_agent("team")
    thread = agent.new_thread()
    first = await agent.run("one", thread)
    second = await agent.run("two", thread)
    assert (first.text, second.text) == ("yes", "yes")
    assert [one.text for one in thread.messages] == ["one", "yes", "two", "yes"]


async def test_an_agent_that_remembers_hears_each_message_once_and_keeps_its_own_work() -> None:
    heard: list[list[str]] = []
    node = AgentExecutor(hears("a", heard), remembers=True)
    chat = GroupChatBuilder("g").participants([node, says("b", "x", "y")]).with_max_iterations(4).build()
    await chat.run("go", run_id="r", checkpoints=MemoryCheckpointStore())
    assert heard == [["go"], ["go", "a 1", "x"]]


async def test_the_events_of_a_chat_have_each_message_once_for_each_participant() -> None:
    chat = (
        GroupChatBuilder("g")
        .participants([says("a", "1", "3"), says("b", "2")])
        .with_max_iterations(3)
        .build()
    )
    events = [event.data async for event in chat.run_stream("go") if event.kind == "custom"]
    inputs = [event["data"] for event in events if event["type"] == "agent.message"]
    assert inputs == [
        {"agent": "a", "text": "go"},
        {"agent": "b", "text": "go\n\n1"},
        {"agent": "a", "text": "2"},
    ]


async def test_a_function_is_described_by_its_first_line() -> None:
    seen: list[GroupChatState] = []

    def counts(_: str) -> str:
        """Count things.

        Slowly.
        """
        return "3"

    def choose(state: GroupChatState) -> None:
        seen.append(state)

    chat = GroupChatBuilder("g").participants([counts]).with_orchestrator_func(choose).build()
    assert (await chat.run("go")).output(PatternResult).round_count == 0
    assert dict(seen[0].participants) == {"counts": "Count things."}


async def test_two_nodes_of_one_agent_know_their_own_words() -> None:
    model = FunctionModel(lambda request: "/".join(f"{one.role}" for one in request.messages))
    agent = ChatAgent(model, name="critic")
    nodes = [AgentExecutor(agent, id="left"), AgentExecutor(agent, id="right")]
    chat = GroupChatBuilder("g").participants(nodes).with_max_iterations(3).build()
    result = (await chat.run("go")).output(PatternResult)
    assert spoken(result)[1:] == [
        ("left", "user"),
        ("right", "user/user"),
        ("left", "user/assistant/user"),
    ]


async def test_a_participant_may_say_nothing() -> None:
    def quiet(_: str) -> None: ...

    chat = GroupChatBuilder("g").participants([quiet, says("a", "x")]).with_max_iterations(3).build()
    result = (await chat.run("go")).output(PatternResult)
    assert (spoken(result), result.round_count) == ([(None, "go"), ("a", "x")], 3)


def test_contradictions_are_refused_when_the_chat_is_built() -> None:
    chat = GroupChatBuilder("g").participants([says("a")])
    with pytest.raises(InvalidPatternError, match="max_iterations is 0"):
        chat.with_max_iterations(0)
    with pytest.raises(InvalidPatternError, match="keep one"):
        chat.with_orchestrator_func(round_robin_selector).with_orchestrator_agent(says("b")).build()
    with pytest.raises(ValueError, match="before it begins"):
        max_rounds_termination(0)
    with pytest.raises(ValueError, match="needs a word"):
        keyword_termination(" ")
    with pytest.raises(ValueError, match="needs a condition"):
        any_termination()

    async def later(_: object) -> bool:
        return True

    with pytest.raises(TypeError, match="is async"):
        chat.with_termination_condition(later)  # type: ignore[arg-type]  # a mistake
    with pytest.raises(TypeError, match="not 5"):
        chat.with_termination_condition(5)  # type: ignore[arg-type]  # a mistake


@pytest.mark.requirement("PA19")
async def test_a_code_review_ends_when_the_reviewer_approves() -> None:
    model = ScriptedModel(["approved(1)", "A test is missing.", "approved(2)", "APPROVED"])
    result = (await code_review(model).build().run("Write it.")).output(PatternResult)
    assert (result.reason, result.round_count) == ("reviewer said 'approved'", 4)


@pytest.mark.requirement("PA19")
async def test_a_brainstorming_ends_when_its_moderator_has_enough() -> None:
    turns = [json.dumps({"next_speaker": name}) for name in ("creative", "critic")]
    lines = [
        turns[0],
        "A, B, C",
        turns[1],
        "B is weak",
        json.dumps({"is_finished": True, "final_message": "A"}),
    ]
    result = (await brainstorming(ScriptedModel(lines)).build().run("Names?")).output(PatternResult)
    assert [author for author, _ in spoken(result)] == [None, "creative", "critic", "moderator"]


@pytest.mark.requirement("PA19")
async def test_a_research_question_is_answered_when_the_research_is_complete() -> None:
    model = ScriptedModel(["one source", "two. Research complete", "It is so."])
    result = (await research_qa(model).build().run("Is it?")).output(PatternResult)
    assert [author for author, _ in spoken(result)] == [None, "researcher", "researcher", "synthesizer"]


@pytest.mark.requirement("PA19")
async def test_content_is_written_edited_and_checked_twice() -> None:
    result = (await content_creation(ScriptedModel(["x"] * 6)).build().run("Write.")).output(PatternResult)
    assert [author for author, _ in spoken(result)[1:]] == ["writer", "editor", "fact-checker"] * 2

"""``agentic chat``, ``threads`` and ``usage``, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from tests.databases import only_sqlite
from tests.integration.plugins.chat.conftest import done

from agentic.core.errors import AgenticError

if TYPE_CHECKING:
    from tests.integration.plugins.chat.conftest import Line

pytestmark = [pytest.mark.integration, only_sqlite]

TALK = "- call: {find_order: {number: 7}}\n- Order 7 is a lamp.\n- It cost 39.00.\n"
REFUND = "- call: {refund: {number: 7}}\n- I did what you decided.\n"
ASKS = "- call: {ask_person: {question: 'Which colour?'}}\n- Green it is.\n"


def test_an_agent_answers_on_standard_output_and_all_else_is_on_standard_error(line: Line) -> None:
    line.add(TALK)
    result = line.run("chat", "help", "What is order 7?")
    assert (result.stdout, result.exit_code) == ("Order 7 is a lamp.\n", 0)
    (thread,) = line.threads()
    assert "  find_order(number=7)\n  -> " in result.stderr
    assert f"continue: agentic chat help --thread {thread['id'][:12]}" in result.stderr
    assert (thread["user"], thread["agent"]) == ("ada", "help")


def test_the_newest_conversation_of_a_person_is_continued_unless_another_is_wanted(line: Line) -> None:
    line.add(TALK)
    line("chat", "help", "What is order 7?")
    assert line("chat", "help", "And its price?") == "It cost 39.00.\n"
    first = line.threads()[0]["id"]
    assert line("chat", "help", "What is order 7?", "--new") == "Order 7 is a lamp.\n"
    assert line("chat", "help", "What is order 7?", "--user", "bob") == "Order 7 is a lamp.\n"
    assert [one["user"] for one in line.threads()] == ["ada", "ada", "bob"]
    with pytest.raises(AgenticError, match="was asked 4 times"):
        line("chat", "help", "More?", "--thread", first[:20])
    with pytest.raises(AgenticError, match="no thread has an id that begins with 'zzz'"):
        line("chat", "help", "More?", "--thread", "zzz")


@pytest.mark.parametrize(
    ("typed", "calls"), [("y\n", ["refund 7"]), ("n it is old\n", []), ("what?\nyes\n", ["refund 7"])]
)
def test_a_person_approves_or_rejects_a_call(line: Line, shop: Path, typed: str, calls: list[str]) -> None:
    line.add(REFUND)
    result = line.run("chat", "help", "Pay back order 7.", typed=typed)
    assert "May refund(number=7) be called?" in result.stderr
    assert (result.stdout, done(shop)) == ("I did what you decided.\n", calls)


def test_a_rejection_has_its_reason_in_the_thread(line: Line) -> None:
    line.add(REFUND)
    line("chat", "help", "Pay back order 7.", typed="n it is old\n")
    assert "it is old" in line("threads", "show", line.threads()[0]["id"][:12])


def test_an_answer_may_come_later_with_another_command(line: Line, shop: Path) -> None:
    line.add(REFUND)
    result = line.run("chat", "help", "Pay back order 7.")
    assert (result.stdout, done(shop)) == ("", [])
    told = result.stderr.split("--answer ")[1].split("=")[0]
    assert told in line("threads", "show", line.threads()[0]["id"])
    assert line("chat", "help", "--answer", f"{told}=yes") == "I did what you decided.\n"
    assert done(shop) == ["refund 7"]


def test_questions_of_an_agent_are_answered(line: Line) -> None:
    line.add(ASKS, tools=["ask_person"])
    result = line.run("chat", "help", "I want a lamp.", typed="green\n")
    assert ("Which colour?" in result.stderr, result.stdout) == (True, "Green it is.\n")


PAUSING = '''
from agentic.core.agents import ToolContext, ToolPause, ToolQuestion, tool


@tool
async def order(ctx: ToolContext) -> str:
    """Order a shirt."""
    if ctx.continued is None:
        return ToolPause(questions=(ToolQuestion(key="size", question="Which size?"),))
    answer = ctx.continued.answers["size"]
    return f"size {answer.result}" if answer.approved else "no size"
'''


@pytest.mark.parametrize(("typed", "result"), [("L\n", "size L"), ("\n", "no size")])
def test_a_tool_asks_during_its_call_and_an_empty_line_declines(
    line: Line, shop: Path, typed: str, result: str
) -> None:
    (shop / "shirts.py").write_text(PAUSING)
    line.add("- call: {order: {}}\n- Done.\n", tools=["./shirts.py:order"])
    found = line.run("chat", "help", "A shirt, please.", typed=typed)
    assert ("Which size?" in found.stderr, found.stdout) == (True, "Done.\n")
    assert f"-> {result}" in found.stderr


def test_without_a_message_lines_are_messages_until_the_end(line: Line) -> None:
    line.add(TALK)
    assert line("chat", "help", typed="What is order 7?\n\nAnd its price?\n") == (
        "Order 7 is a lamp.\nIt cost 39.00.\n"
    )


def test_an_error_of_a_model_does_not_end_a_conversation(line: Line) -> None:
    line.add("- error: bad_request\n- Here I am.\n")
    result = line.run("chat", "help", typed="Hello?\nAre you there?\n")
    assert (result.stdout, result.exit_code) == ("Here I am.\n", 0)
    assert "does not accept the request" in result.stderr


def test_a_stopped_answer_says_why_and_fails(line: Line) -> None:
    line.add(TALK, limits={"max_model_calls": 1})
    result = line.run("chat", "help", "What is order 7?")
    assert result.exit_code == 1
    assert "stopped without an answer: it reached max_model_calls=1" in result.stderr


def test_an_answer_that_does_not_fit_says_why_and_is_counted(line: Line) -> None:
    line.add("- answer: {}\n" * 3, output={"type": "object", "required": ["fine"]})
    result = line.run("chat", "help", "Is it?")
    assert result.exit_code == 1
    assert "'fine' is a required property" in result.stderr
    (row,) = json.loads(line("usage", "--json"))
    assert row["requests"] == 3


def test_programs_read_one_event_per_line(line: Line, shop: Path) -> None:
    line.add(REFUND)
    events = line.events("Pay back order 7.")
    assert [event["event"] for event in events] == ["started", "request", "finished"]
    asked = events[1]
    assert (asked["kind"], asked["question"]) == ("approval", "May refund(number=7) be called?")
    assert (events[2]["status"], events[2]["pending"]) == ("needs_input", [asked["id"]])
    thread = events[2]["thread"]
    answered = line.events("--thread", thread, "--answer", f"{asked['id']}=no it is old")
    assert answered[-1]["status"] == "complete"
    assert answered[-1]["usage"]["requests"] == 2
    assert "".join(event["text"] for event in answered if event["event"] == "text") == answered[-1]["text"]
    assert done(shop) == []


def test_an_agent_in_a_file_needs_no_row(line: Line, shop: Path) -> None:
    file = shop / "lamps.yaml"
    file.write_text(yaml.safe_dump(line.write(TALK)))
    assert line("chat", str(file), "What is order 7?") == "Order 7 is a lamp.\n"
    assert line("chat", str(file), "And its price?") == "It cost 39.00.\n"
    assert json.loads(line("agents", "list", "--json")) == []
    (row,) = json.loads(line("usage", "--json"))
    assert (row["agent"], row["turns"], row["requests"]) == ("lamps", 2, 3)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("chat", "nobody", "Hi"), "nobody"),
        (("chat", "gone.yaml", "Hi"), r"gone\.yaml is invalid: it cannot be read"),
        (("chat", "help", "--new", "--thread", "x"), "give one of them"),
        (("chat", "help", "--answer", "x"), "ID=ANSWER"),
        (("threads", "delete"), "give either the id of a thread or --user"),
        (("threads", "show", "zzz"), "no thread has an id"),
        (("usage", "--by", "project", "--project", "x"), "leave out --project"),
    ],
)
def test_wrong_words_are_refused_with_the_next_step(line: Line, words: tuple[str, ...], told: str) -> None:
    line.add(TALK)
    with pytest.raises(AgenticError, match=told):
        line(*words)


def test_an_actor_is_a_tool_with_the_services_of_the_project(line: Line) -> None:
    script = "- call: {aggregate: {items: [{word: one}]}}\n- Done.\n"
    line.add(script, tools=["actor:aggregate"])
    result = line.run("chat", "help", "Collect the words.")
    assert (result.stdout, result.exit_code) == ("Done.\n", 0)
    assert "failed" not in result.stderr


def test_only_chat_agents_are_spoken_to(line: Line) -> None:
    line("agents", "add", "front", "--platform", "hackernews")
    with pytest.raises(AgenticError, match="only agents of 'chat' can be spoken to"):
        line("chat", "front", "Hi")


def test_the_thread_of_a_waiting_execution_is_answered_there(line: Line) -> None:
    line.add(REFUND)
    line("agents", "edit", "help", "--config", "prompt=Pay back order 7.")
    line("run", "help")
    (thread,) = line.threads()
    with pytest.raises(AgenticError, match="has not ended its turn"):
        line("chat", "help", "Hi", "--thread", thread["id"])

"""Threads and turns as commands show, export and delete them, on SQLite and PostgreSQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.plugins.chat.conftest import Line

pytestmark = pytest.mark.integration

TALK = "- call: {find_order: {number: 7}}\n- Order 7 is a lamp.\n- It cost 39.00.\n"


@pytest.mark.parametrize("by", ["agent", "model", "day", "project"])
def test_the_use_of_models_is_summed(line: Line, by: str) -> None:
    line.add(TALK)
    line("chat", "help", "What is order 7?")
    line("chat", "help", "And its price?")
    (row,) = json.loads(line("usage", "--by", by, "--days", "2", "--json"))
    assert (row["turns"], row["requests"], row["tool_calls"], row["cost_usd"]) == (2, 3, 1, 0.0)
    assert by in row
    assert "turns" in line("usage", "--by", by)


def test_a_reply_of_a_fallback_counts_for_the_model_that_gave_it(line: Line) -> None:
    other = str(line.write("- not this one\n- Order 7 is a lamp.\n")["model"])
    script = "- call: {find_order: {number: 7}}\n- error: overloaded\n- It is a chair.\n- It cost 39.00.\n"
    line.add(script, fallback=[other], max_attempts=1)
    line("chat", "help", "What is order 7?")
    line("chat", "help", "And its price?")
    first, second = json.loads(line("usage", "--by", "model", "--json"))
    assert (first["model"], second["model"]) == (other, "scripted:script1.yaml")
    assert [(one["turns"], one["requests"]) for one in (first, second)] == [(1, 1), (2, 2)]
    (whole,) = json.loads(line("usage", "--json"))
    assert (whole["turns"], whole["requests"], whole["tool_calls"]) == (2, 3, 1)
    assert sum(one["input_tokens"] for one in (first, second)) == whole["input_tokens"]


def test_all_data_of_a_person_is_exported_and_deleted(line: Line, tmp_path: Path) -> None:
    line.add("- Hello.\n", memory={"kind": "sql"})
    for user in ("bob", "eve"):
        line("chat", "help", f"My name is {user}.", "--user", user)
    whole = json.loads(line("threads", "export", "--user", "bob"))
    assert [len(whole[key]) for key in ("threads", "turns", "memories")] == [1, 1, 1]
    assert "eve" not in json.dumps(whole)
    line("threads", "delete", "--user", "bob", "--yes")
    line("threads", "export", "--user", "bob", "--out", str(tmp_path / "bob.json"))
    nothing = json.loads((tmp_path / "bob.json").read_text())
    assert [nothing[key] for key in ("threads", "turns", "memories")] == [[], [], []]
    assert [one["user"] for one in line.threads()] == ["eve"]
    assert json.loads(line("threads", "export", "--user", "eve"))["memories"]


def test_a_thread_is_exported_and_deleted_after_a_question(line: Line) -> None:
    line.add(TALK)
    line("chat", "help", "What is order 7?")
    (thread,) = line.threads()
    whole = json.loads(line("threads", "export", thread["id"][:10]))
    assert whole["turns"][0]["prompt"] == "What is order 7?"
    assert json.loads(line("threads", "show", thread["id"], "--json")) == whole["threads"][0]
    assert line.run("threads", "delete", thread["id"], typed="n\n").exit_code == 1
    line("threads", "delete", thread["id"], typed="y\n")
    assert line.threads() == []
    assert json.loads(line("usage", "--json")) == []


def test_text_with_half_a_surrogate_pair_is_answered_shown_and_exported(line: Line, tmp_path: Path) -> None:
    line.add('- "half \\ud800"\n')
    assert line("chat", "help", "Say it!") == "half \\ud800\n"
    (thread,) = line.threads()
    assert "help: half \\ud800" in line("threads", "show", thread["id"])
    file = tmp_path / "thread.json"
    line("threads", "export", thread["id"], "--out", str(file))
    assert json.loads(file.read_text())["threads"][0]["entries"][1]["messages"][0]["parts"][0]["text"] == (
        "half \ud800"
    )


def test_turns_of_other_people_in_a_thread_go_with_it(line: Line) -> None:
    line.add("- Hello.\n- Hello, both.\n")
    line("chat", "help", "I am Bob.", "--user", "bob")
    (thread,) = line.threads()
    line("chat", "help", "And I am Eve.", "--user", "eve", "--thread", thread["id"])
    assert len(json.loads(line("threads", "export", "--user", "bob"))["turns"]) == 2
    line("threads", "delete", "--user", "bob", "--yes")
    assert json.loads(line("threads", "export", "--user", "eve"))["turns"] == []

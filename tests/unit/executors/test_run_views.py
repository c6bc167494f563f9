"""Runs and requests as tables show them."""

from __future__ import annotations

import pytest

from agentic.core.types import JSONValue
from agentic.executors.commands.runs.command import _for_people
from agentic.executors.commands.runs.views import minute, question_text, shown_workflow

AGENT = "9539b802c6ad409d8d377cbf697c5f38"


def test_the_run_of_an_agent_has_its_name() -> None:
    workflow = f"agent:web:{AGENT}:d1144fca2abf"
    assert shown_workflow(workflow, {AGENT: "shop-window"}) == "shop-window"
    assert shown_workflow(workflow, {}) == "web agent 9539b802c6ad"


def test_another_workflow_has_the_last_part_of_its_name() -> None:
    assert shown_workflow("artpkg.flows:build", {}) == "flows:build"
    assert shown_workflow("report", {}) == "report"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Send it?", "Send it?"),
        ({"$": "artpkg.flows.Draft", "v": {"title": "Hello", "words": 12}}, "title: Hello; words: 12"),
        ({"$": "Ask", "v": {"draft": {"$": "Draft", "v": {"title": "a"}}, "tags": ["x", "y"]}},
         "draft: title: a; tags: x, y"),
        ({"ok": True, "none": None}, "ok: true; none: null"),
    ],
)  # fmt: skip
def test_a_question_is_shown_without_the_names_of_types(question: JSONValue, text: str) -> None:
    assert question_text(question) == text


def test_a_time_is_shown_to_the_minute() -> None:
    assert minute("2026-05-01 12:00:59Z") == "2026-05-01 12:00"
    assert minute(None) == ""


def test_a_day_stands_once_in_a_row_of_80_columns() -> None:
    row = dict.fromkeys(("short_id", "short_workflow", "state", "superstep"), "a")
    same = _for_people({**row, "created_at": "2026-05-01 12:00:01Z", "updated_at": "2026-05-01 12:05:00Z"})
    later = _for_people({**row, "created_at": "2026-05-01 12:00:01Z", "updated_at": "2026-05-02 12:05:00Z"})
    assert (same["updated"], later["updated"]) == ("12:05", "2026-05-02 12:05")

"""The use of language models, in a line."""

from __future__ import annotations

import pytest

from agentic.core.types import JSONValue
from agentic.executors.commands.run.outcome import models_text, no_rows_text
from agentic.executors.commands.servers.demo import agents


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (None, ""),
        (
            {"requests": 1, "input_tokens": 1_200, "output_tokens": 9, "cost_usd": 0.0125},
            "1 request, 1,200 tokens in, 9 out, $0.0125",
        ),
        (
            {"requests": 3, "cached": 1, "cached_share": 0.25, "cost_usd": None},
            "3 requests, 1 kept from earlier (25%), 0 tokens in, 0 out, price not known",
        ),
        (
            {"requests": 0, "cached": 9, "cached_share": 1.0, "cost_usd": 0.0},
            "0 requests, 9 kept from earlier (100%)",
        ),
    ],
)
def test_a_line_counts_requests_kept_answers_tokens_and_dollars(use: object, expected: str) -> None:
    assert models_text(use) == expected


def test_the_demo_has_an_agent_with_a_model_only_on_request() -> None:
    assert [agent.name for agent in agents(1, live=False)] == ["top-stories", "shop"]
    assert [agent.name for agent in agents(1, live=False, with_model=True)][-1] == "labels"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({}, "none"),
        ({"schema_version": 1, "polls_count": 2, "read": 0, "has_more": True, "title": "x"}, "none"),
        ({"polls_count": 2, "skipped": 1_000, "failed": 2}, "none (1,000 skipped, 2 failed)"),
    ],
)
def test_a_run_without_rows_shows_the_counts_of_its_result(result: dict[str, JSONValue], text: str) -> None:
    assert no_rows_text(result) == text

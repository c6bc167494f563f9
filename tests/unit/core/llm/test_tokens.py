"""Estimates of tokens: never far below the truth, and close to it after a report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.llm.strategies import requests

from agentic.core.llm import (
    ChatMessage,
    DataPart,
    ModelRequest,
    TokenEstimator,
    TokenUsage,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from agentic.core.llm.tokens import BYTES_PER_TOKEN, DATA_TOKENS, MAX_MODELS, MESSAGE_TOKENS

pytestmark = pytest.mark.requirement("LM08")


def asked(text: str) -> ModelRequest:
    return ModelRequest(messages=(ChatMessage.user(text),))


def test_a_text_of_any_language_is_measured_in_bytes() -> None:
    estimator = TokenEstimator()
    assert estimator.text_tokens("word " * 70) == 100
    assert estimator.text_tokens("\u9774" * 70) == 60
    assert estimator.text_tokens("") == 0
    assert estimator.text_tokens("\ud800") == 1


def test_instructions_tools_calls_and_results_are_counted() -> None:
    estimator = TokenEstimator()
    base = estimator.request_tokens(asked("Hello?"))
    for more in (
        {"instructions": "x" * 700},
        {"tools": (ToolDefinition(name="look", description="x" * 700),)},
        {"messages": (ChatMessage.assistant("", ToolCall(id="1", name="look", arguments={"a": "x" * 700})),)},
        {"messages": (ChatMessage.tool(ToolResult(call_id="1", name="look", content=["x" * 700])),)},
    ):
        assert 200 <= estimator.request_tokens(asked("Hello?").model_copy(update=more)) <= 230
    assert base < 10


def test_an_image_counts_as_one_whatever_its_bytes() -> None:
    image = DataPart(media_type="image/png", data="A" * 1_000_000)
    assert TokenEstimator().message_tokens(ChatMessage.user("", image)) == DATA_TOKENS + MESSAGE_TOKENS


@given(st.floats(min_value=1.2, max_value=7.5), st.integers(min_value=500, max_value=50_000))
def test_after_one_report_the_estimate_fits_texts_of_the_same_kind(ratio: float, size: int) -> None:
    estimator = TokenEstimator()
    estimator.learn(asked("x" * size), TokenUsage(input_tokens=round(size / ratio) + MESSAGE_TOKENS), "a:b")
    estimated = estimator.request_tokens(asked("y" * 10_000), "a:b")
    assert estimated == pytest.approx(10_000 / ratio, rel=0.05)
    assert estimator.bytes_per_token("a:other") == BYTES_PER_TOKEN


@given(st.lists(st.floats(min_value=1.5, max_value=6), min_size=1, max_size=20))
def test_the_estimate_is_never_below_the_last_report(ratios: list[float]) -> None:
    """Reservations of budgets need the high side: text with many tokens counts at once, others by a tenth."""
    estimator = TokenEstimator()
    for ratio in ratios:
        used = TokenUsage(input_tokens=round(7_000 / ratio))
        estimator.learn(asked("x" * 7_000), used, "a:b")
        assert estimator.request_tokens(asked("x" * 7_000), "a:b") >= used.input_tokens


@pytest.mark.parametrize(
    ("request_", "input_tokens"),
    [
        (asked("Hello?"), 900),
        (asked("x" * 1_000), 0),
        (ModelRequest(messages=(ChatMessage.user("x" * 1_000, DataPart(media_type="image/png")),)), 900),
    ],
    ids=["a short request", "nothing reported", "an image"],
)
def test_a_report_that_says_little_of_the_text_is_not_learnt(
    request_: ModelRequest, input_tokens: int
) -> None:
    estimator = TokenEstimator()
    estimator.learn(request_, TokenUsage(input_tokens=input_tokens), "a:b")
    assert estimator.bytes_per_token("a:b") == BYTES_PER_TOKEN


def test_an_absurd_report_is_learnt_within_bounds() -> None:
    estimator = TokenEstimator()
    for tokens, ratio in ((1, 8), (10**9, 1)):
        estimator.learn(asked("x" * 1_000), TokenUsage(input_tokens=tokens), "a:b")
        assert estimator.bytes_per_token("a:b") == ratio


def test_a_tokenizer_counts_instead() -> None:
    class Words:
        def count(self, text: str) -> int:
            return len(text.split())

    estimator = TokenEstimator(Words())
    assert estimator.text_tokens("one two three") == 3
    assert estimator.request_tokens(asked("one two three")) == 3 + MESSAGE_TOKENS
    estimator.learn(asked("x" * 1_000), TokenUsage(input_tokens=1), "a:b")
    assert estimator.message_tokens(ChatMessage.user("one two"), "a:b") == 2 + MESSAGE_TOKENS


def test_only_so_many_models_are_remembered() -> None:
    estimator = TokenEstimator()
    for number in range(MAX_MODELS + 1):
        estimator.learn(asked("x" * 1_000), TokenUsage(input_tokens=500), f"a:{number}")
    assert estimator.bytes_per_token("a:0") == BYTES_PER_TOKEN
    assert estimator.bytes_per_token("a:1") < BYTES_PER_TOKEN


@given(requests)
def test_every_request_has_an_estimate_that_grows_with_its_messages(request: ModelRequest) -> None:
    estimator = TokenEstimator()
    longer = request.model_copy(update={"messages": (*request.messages, ChatMessage.user("more"))})
    assert 0 < estimator.request_tokens(request) < estimator.request_tokens(longer)
    several = request.messages
    total = sum(map(estimator.message_tokens, several))
    assert abs(estimator.request_tokens(ModelRequest(messages=several)) - total) <= len(several)

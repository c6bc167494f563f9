"""What is done about failures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from agentic.core.actors import Failure
from agentic.core.pipeline.policies.policies import (
    ErrorHandling,
    ErrorRule,
    Levels,
    StepAttempt,
    decide,
    failure_key,
)

WORDS = ["timeout", "http_403", "http_503", "rate_limited"]

rules = st.dictionaries(
    st.sampled_from([*WORDS, "http_4xx", "http_5xx", "*"]),
    st.builds(
        ErrorRule,
        retry_count=st.integers(0, 3),
        backoff_s=st.floats(0, 300),
        retry_with_actor=st.sampled_from([None, "other"]),
        then=st.sampled_from([None, "fail", "skip"]),
    ),
)
failures = st.builds(
    lambda word, wait: failing(word, retry_after_s=wait),
    st.sampled_from(WORDS),
    st.one_of(st.none(), st.floats(0, 1000)),
)


def failing(word: str, *, retry_after_s: float | None = None) -> Failure:
    status = int(word[5:]) if word.startswith("http_") else {"rate_limited": 429}.get(word)
    return Failure(failure_class=word, message=word, status=status, retry_after_s=retry_after_s)


def play(levels: Levels, *sequence: Failure) -> list[StepAttempt]:
    """Let every attempt fail, with these failures in turn, until the rules give up."""
    attempts: list[StepAttempt] = []
    for failure in sequence:
        decision = decide(levels, failure, attempts)
        attempts.append(StepAttempt(actor="fetch", failure=failure, decision=decision))
        if decision.action == "give_up":
            break
    return attempts


def actions(levels: Levels, *sequence: Failure) -> list[str]:
    return [a.decision.action for a in play(levels, *sequence) if a.decision]


def read(data: object) -> dict[str, ErrorRule]:
    handling: dict[str, ErrorRule] = TypeAdapter(ErrorHandling).validate_python(data)
    return handling


@pytest.mark.requirement("SP12")
def test_a_timeout_is_retried_as_often_as_the_rule_says() -> None:
    levels = [read({"timeout": {"retry_count": 2}})]
    assert actions(levels, *[failing("timeout")] * 9) == ["retry", "retry", "give_up"]


@pytest.mark.requirement("SP11")
def test_a_refusal_is_tried_once_with_another_actor() -> None:
    levels = [read({"403_error": {"retry_with_actor": "firecrawl_api"}})]
    first, second = play(levels, *[failing("http_403")] * 9)
    assert first.decision is not None
    assert (first.decision.action, first.decision.actor) == ("fallback", "firecrawl_api")
    assert second.decision is not None
    assert second.decision.action == "give_up"


def test_what_fails_a_fallback_does_not_enter_another_rule() -> None:
    levels = [
        read({"http_403": {"retry_with_actor": "other", "then": "skip"}, "timeout": {"retry_count": 9}})
    ]
    last = play(levels, failing("http_403"), failing("timeout"))[-1].decision
    assert last is not None
    assert (last.action, last.then) == ("give_up", "skip")


def test_the_fallback_comes_after_the_retries() -> None:
    levels = [read({"timeout": {"retry_count": 1, "retry_with_actor": "other"}})]
    assert actions(levels, *[failing("timeout")] * 9) == ["retry", "fallback", "give_up"]


def test_retries_are_counted_for_each_rule() -> None:
    levels = [read({"timeout": {"retry_count": 1}, "http_5xx": {"retry_count": 1}})]
    sequence = [failing("timeout"), failing("http_503"), failing("timeout")]
    assert actions(levels, *sequence) == ["retry", "retry", "give_up"]


@pytest.mark.parametrize(
    ("word", "winner"),
    [("http_503", "exact"), ("http_500", "family"), ("http_404", "rest"), ("timeout", "rest")],
)
def test_the_closest_rule_decides(word: str, winner: str) -> None:
    levels = [
        read({f"{key}": {"retry_with_actor": name} for key, name in
              [("*", "rest"), ("http_5xx", "family"), ("503_error", "exact")]})
    ]  # fmt: skip
    assert decide(levels, failing(word), []).actor == winner


def test_a_rule_of_the_step_wins_over_one_of_the_pipeline() -> None:
    levels = [read({"*": {"then": "skip"}}), read({"timeout": {"retry_count": 5}})]
    assert decide(levels, failing("timeout"), []).then == "skip"


def test_a_429_may_be_named_by_its_status() -> None:
    assert decide([read({"429_error": {"retry_count": 1}})], failing("rate_limited"), []).action == "retry"


def test_without_a_rule_a_failure_is_final() -> None:
    decision = decide([{}], failing("timeout"), [])
    assert (decision.action, decision.then) == ("give_up", None)


def test_waits_double() -> None:
    levels = [read({"timeout": {"retry_count": 3, "backoff_s": 0.5}})]
    waits = [a.decision.wait_s for a in play(levels, *[failing("timeout")] * 4) if a.decision]
    assert waits == [0.5, 1.0, 2.0, 0.0]


def test_what_the_server_asks_for_is_waited() -> None:
    levels = [read({"rate_limited": {"retry_count": 1, "backoff_s": 1}})]
    assert decide(levels, failing("rate_limited", retry_after_s=30), []).wait_s == 30


def test_a_server_that_asks_for_too_long_a_wait_is_not_asked_again() -> None:
    levels = [read({"rate_limited": {"retry_count": 1, "max_wait_s": 60}})]
    assert decide(levels, failing("rate_limited", retry_after_s=61), []).action == "give_up"


@pytest.mark.parametrize("key", ["403_error", "http_403", "403"])
def test_a_status_has_several_spellings(key: str) -> None:
    assert failure_key(key) == "http_403"


def test_two_spellings_of_one_class_are_refused() -> None:
    with pytest.raises(ValidationError, match="two rules for 'http_403'"):
        read({"403_error": {}, "http_403": {}})


@given(st.lists(rules, min_size=1, max_size=3), st.lists(failures, min_size=30, max_size=30))
def test_every_sequence_of_failures_comes_to_an_end(levels: Levels, sequence: list[Failure]) -> None:
    assert actions(levels, *sequence)[-1] == "give_up"


@given(st.lists(rules, min_size=1, max_size=3), st.lists(failures, min_size=30, max_size=30))
def test_a_fallback_is_the_last_but_one_step_and_runs_once(levels: Levels, sequence: list[Failure]) -> None:
    taken = actions(levels, *sequence)
    assert "fallback" not in taken[:-2]


@given(st.lists(rules, min_size=1, max_size=3), st.lists(failures, min_size=30, max_size=30))
def test_a_retry_never_comes_before_the_server_allows_it(levels: Levels, sequence: list[Failure]) -> None:
    for attempt in play(levels, *sequence):
        assert attempt.failure is not None
        assert attempt.decision is not None
        if attempt.decision.action == "retry":
            assert attempt.decision.wait_s >= (attempt.failure.retry_after_s or 0)

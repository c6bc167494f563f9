"""Retries: of what can pass, after the delay that was asked for, and never mixed into one stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.llm.wrappers.streams import Piece, PiecewiseModel, asked, shown, shown_delta

from agentic.core import RetryPolicy
from agentic.core.llm import (
    BadModelRequestError,
    CutReplyError,
    LLMAdapter,
    ModelAuthError,
    ModelDelta,
    ModelError,
    OverloadedError,
    RateLimitedError,
    ReplyFold,
    RetryingModel,
    ScriptedModel,
    ScriptEndedError,
    StopReason,
    TokenUsage,
)

pytestmark = pytest.mark.requirement("LM01")

BUSY = OverloadedError("scripted:model", "busy")
CUT = CutReplyError("piecewise:model", "the connection closed")


class Waits:
    """Keeps the delays instead of waiting."""

    def __init__(self) -> None:
        self.delays_s: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.delays_s.append(seconds)


def retrying(model: LLMAdapter, **policy: float) -> tuple[RetryingModel, Waits]:
    waits = Waits()
    chosen = RetryPolicy(jitter=0, **policy)  # type: ignore[arg-type]  # numbers of the policy
    return RetryingModel(model, chosen, sleep=waits), waits


async def test_errors_that_may_pass_are_retried_after_growing_delays() -> None:
    model, waits = retrying(ScriptedModel([BUSY, BUSY, "Hello."]), first_delay_s=1.0)
    assert (await model.complete(asked())).text == "Hello."
    assert waits.delays_s == [1.0, 2.0]


async def test_the_delay_that_the_provider_asks_for_is_respected_up_to_the_maximum() -> None:
    limited = [RateLimitedError("scripted:model", "slow", retry_after_s=wait) for wait in (7.5, 900)]
    model, waits = retrying(ScriptedModel([*limited, "Hello."]), max_delay_s=30)
    await model.complete(asked())
    assert waits.delays_s == [7.5, 30]


@pytest.mark.parametrize(
    "error",
    [
        BadModelRequestError("scripted:model", "no"),
        ModelAuthError("scripted:model", "no"),
        KeyError("a bug is not the model's failure"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_other_errors_are_raised_at_once(error: Exception) -> None:
    for method in ("complete", "stream"):
        inner = ScriptedModel([error, "Hello."])
        model, waits = retrying(inner)
        with pytest.raises(type(error)):
            await (model.complete(asked()) if method == "complete" else shown(model))
        assert (inner.remaining_count, waits.delays_s) == (1, [])


async def test_the_error_of_the_last_try_is_raised() -> None:
    errors = [OverloadedError("scripted:model", f"busy {number}") for number in range(3)]
    model, waits = retrying(ScriptedModel(errors), max_attempts=3)
    with pytest.raises(OverloadedError, match="busy 2"):
        await model.complete(asked())
    assert len(waits.delays_s) == 2


async def test_a_stream_that_fails_before_its_first_piece_is_retried_unseen() -> None:
    model, waits = retrying(PiecewiseModel([BUSY], ["Hel", "lo."]))
    assert await shown(model) == ["Hel", "lo.", "<reply: Hello.>"]
    assert len(waits.delays_s) == 1


async def test_a_stream_that_breaks_later_begins_again_and_says_so() -> None:
    inner = PiecewiseModel(["Good", " mor", CUT], ["Hel", "lo."])
    model, _ = retrying(inner)
    assert await shown(model) == ["Good", " mor", "<restarted>", "Hel", "lo.", "<reply: Hello.>"]
    assert (await retrying(PiecewiseModel(["Good", CUT], ["Hello."]))[0].complete(asked())).text == "Hello."
    assert inner.closed_count == 2


async def test_a_stream_that_breaks_for_good_ends_with_its_error() -> None:
    model, _ = retrying(PiecewiseModel(["a", CUT], ["b", CUT]), max_attempts=2)
    stream = model.stream(asked())
    assert [shown_delta(await anext(stream)) for _ in range(3)] == ["a", "<restarted>", "b"]
    with pytest.raises(CutReplyError):
        await anext(stream)


@given(st.lists(st.lists(st.text(min_size=1, max_size=5), max_size=4), max_size=3))
async def test_what_a_reader_folds_is_the_last_try_whatever_broke_before(broken: list[list[str]]) -> None:
    lines: list[list[Piece]] = [[*pieces, CUT] for pieces in broken]
    model, _ = retrying(PiecewiseModel(*lines, ["Hel", "lo."]), max_attempts=4)
    fold = ReplyFold(model.name)
    async for delta in model.stream(asked()):
        fold.add(delta)
    assert fold.reply(usage=TokenUsage(), stop_reason=StopReason.END).text == "Hello."


async def test_pieces_are_passed_on_as_they_come() -> None:
    seen: list[str] = []
    inner = PiecewiseModel(["a", lambda: seen.append("between"), "b"])
    async for delta in retrying(inner)[0].stream(asked()):
        seen.append(shown_delta(delta))  # noqa: PERF401  # the order of both counts
    assert seen == ["a", "between", "b", "<reply: ab>"]


async def test_a_reader_that_stops_closes_the_stream_of_the_model() -> None:
    inner = PiecewiseModel(["a", "b"])
    stream = retrying(inner)[0].stream(asked())
    assert await anext(stream) == ModelDelta(text="a")
    await stream.aclose()  # type: ignore[attr-defined]  # a generator
    assert inner.closed_count == 1


async def test_each_request_has_its_own_tries() -> None:
    model, _ = retrying(ScriptedModel([BUSY, "a", BUSY, "b"]), max_attempts=2)
    assert [(await model.complete(asked())).text for _ in range(2)] == ["a", "b"]
    with pytest.raises(ScriptEndedError):
        await model.complete(asked())


def test_a_policy_without_delays_is_usable_and_errors_of_models_are_all_there_is_to_retry() -> None:
    assert RetryingModel(ScriptedModel([])).policy.retry_on == (ModelError,)

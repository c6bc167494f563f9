"""What is done about failures that may pass, where a spec says nothing of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from agentic.core.actors import Actor, ActorError, Failure
from agentic.core.pipeline import DEFAULT_RULES, ErrorRule, PipelineResult, StepFailedError, shortfalls
from agentic.core.pipeline.policies import policies
from agentic.core.pipeline.policies.policies import chance_of, decide

Run = Callable[..., Any]

FETCH = "steps: [{actor: fetch, config: {url: 'http://a/0'}}]\n"
LOOP = """
inputs: {urls: {type: list}}
steps: [{type: loop, source: urls, loop_steps: [{actor: fetch}, {actor: extract_detail}]}]
"""
CRAWL = "steps: [{type: crawl, start: 'http://a/0'}]\n"


def failing(word: str, status: int | None = None, *, retry_after_s: float | None = None) -> ActorError:
    return ActorError(f"it was {word}", failure_class=word, status=status, retry_after_s=retry_after_s)


def failing_first(count: int, error: ActorError, answer: str = "") -> Callable[[], object]:
    """Return an answer that comes after so many failures."""
    waiting: list[object] = [error] * count
    return lambda: waiting.pop() if waiting else answer


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait a twentieth of the time."""
    rules = {
        key: rule.model_copy(update={"backoff_s": rule.backoff_s / 20}) for key, rule in DEFAULT_RULES.items()
    }
    monkeypatch.setattr(policies, "DEFAULT_RULES", rules)


@pytest.mark.parametrize(
    ("word", "status", "retries"),
    [("timeout", None, 2), ("connect", None, 2), ("http_503", 503, 2), ("rate_limited", 429, 3)],
)
async def test_a_step_is_tried_again_after_what_may_pass(
    run: Run, site: Any, word: str, status: int | None, retries: int
) -> None:
    site.pages["http://a/0"] = failing_first(retries, failing(word, status))
    result = await run(FETCH)
    assert len(result.retried[0].attempts) == retries + 1

    site.pages["http://a/0"] = failing_first(retries + 1, failing(word, status))
    with pytest.raises(StepFailedError, match=f"{retries + 1} attempts"):
        await run(FETCH)


@pytest.mark.parametrize("word", ["http_404", "blocked", "error", "dns", "tls", "schema_invalid"])
async def test_nothing_else_is(run: Run, site: Any, word: str) -> None:
    site.pages["http://a/0"] = failing_first(1, failing(word))
    with pytest.raises(StepFailedError, match="1 attempt "):
        await run(FETCH)


async def test_items_and_pages_are_tried_again(run: Run, site: Any) -> None:
    site.pages.update({"http://a/1": failing_first(1, failing("timeout"), "one"), "http://a/2": "two"})
    result = await run(LOOP, urls=["http://a/1", "http://a/2"])
    assert [item["text"] for item in result.items] == ["one", "two"]

    site.pages.update({"http://a/0": "http://a/1", "http://a/1": failing_first(1, failing("http_503", 503))})
    result = await run(CRAWL)
    assert (result.pages.done, result.pages.failed) == (2, 0)


@pytest.mark.parametrize(
    "rules",
    [
        "error_handling: {timeout: {retry_count: 0}}",
        "error_handling: {timeout: {then: fail}}",
        "error_handling: {'*': {then: fail}}",
    ],
)
async def test_any_rule_of_a_spec_wins_over_them(run: Run, site: Any, rules: str) -> None:
    site.pages["http://a/0"] = failing_first(1, failing("timeout"))
    with pytest.raises(StepFailedError, match="1 attempt "):
        await run(FETCH + rules)


async def test_they_stand_within_other_pipelines_too(run: Run, site: Any) -> None:
    site.pages["http://a/0"] = failing_first(1, failing("timeout"))
    await run(
        "steps: [{type: pipeline, inputs: {}, pipeline: "
        "{steps: [{actor: fetch, config: {url: 'http://a/0'}}]}}]"
    )
    assert len(site.fetched) == 2


def test_what_a_server_asks_for_is_waited() -> None:
    failure = Failure(failure_class="rate_limited", message="", status=429, retry_after_s=7)
    assert decide([DEFAULT_RULES], failure, [], chance=0.9).wait_s == 7


def test_waits_differ_from_one_thing_to_the_next_and_are_the_same_each_time() -> None:
    levels = [{"timeout": ErrorRule(retry_count=1, backoff_s=10, jitter=0.5)}]
    failure = Failure(failure_class="timeout", message="")

    def wait_s(subject: str) -> float:
        return decide(levels, failure, [], chance_of(subject, 0)).wait_s

    waits = [wait_s(f"http://a/{number}") for number in range(100)]
    assert waits == [wait_s(f"http://a/{number}") for number in range(100)]
    assert len(set(waits)) > 90
    assert 5 <= min(waits) < 6
    assert 9 < max(waits) <= 10


async def test_the_same_run_waits_equally_long(run: Run, site: Any) -> None:
    async def waits() -> list[float]:
        urls = [f"http://a/{number}" for number in range(3)]
        site.pages.update({url: failing_first(1, failing("timeout"), "x") for url in urls})
        result = await run(LOOP, urls=urls)
        return [tried.attempts[0].wait_s for tried in result.retried]

    first = await waits()
    assert len(set(first)) > 1
    assert await waits() == first


class TestActorsWithAnEffect:
    @pytest.mark.parametrize("word", ["timeout", "http_500", "connect"])
    async def test_one_that_may_have_done_its_work_is_not_called_again(
        self, run: Run, site: Any, monkeypatch: pytest.MonkeyPatch, word: str
    ) -> None:
        monkeypatch.setattr(site, "repeatable_after", lambda _: frozenset({"rate_limited"}))
        site.pages["http://a/0"] = failing_first(1, failing(word, 500 if word == "http_500" else None))
        for text in (FETCH, CRAWL):
            with pytest.raises(StepFailedError):
                await run(text)
            site.pages["http://a/0"] = failing_first(1, failing(word))

    async def test_it_is_after_what_it_names(
        self, run: Run, site: type[Actor], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(site, "repeatable_after", lambda _: frozenset({"rate_limited"}))
        site.pages["http://a/0"] = failing_first(2, failing("rate_limited", 429))  # type: ignore[attr-defined] # of the fixture
        assert len((await run(FETCH)).retried[0].attempts) == 3

    @pytest.mark.parametrize(("word", "calls"), [("timeout", 1), ("rate_limited", 2)])
    async def test_a_crawl_is_as_careful_as_the_most_careful_of_the_actors_that_read_its_pages(
        self, run: Run, site: Any, actors: Any, word: str, calls: int
    ) -> None:
        costly = {"repeatable_after": classmethod(lambda *_: frozenset({"rate_limited"}))}
        actors["extract_detail"] = type("Costly", (actors["extract_detail"],), costly)
        text = CRAWL.replace("'http://a/0'}", "'http://a/0', detail: {match: ['*']}}")
        site.pages["http://a/0"] = failing_first(1, failing(word))
        with suppress(StepFailedError):
            await run(text)
        assert len(site.fetched) == calls


class TestShortfalls:
    async def test_pages_that_were_given_up_are_told(self, run: Run, site: Any) -> None:
        site.pages.update({f"http://a/{number}": "" for number in range(10)})
        site.pages["http://a/0"] = " ".join(site.pages)
        site.pages.update({f"http://a/{number}": failing("http_503", 503) for number in (1, 2, 3)})
        site.pages["http://a/4"] = failing("timeout")

        result = await run(CRAWL)

        assert shortfalls(result) == ("4 of 10 pages failed: http_503 3, timeout 1",)

    async def test_items_and_steps_that_were_given_up_are_told(self, run: Run, site: Any) -> None:
        site.pages.update({"http://a/1": "one", "http://a/2": failing("blocked")})
        text = LOOP.rstrip()[:-1] + (
            ", {actor: fetch, config: {url: 'http://a/none'}, error_handling: {'*': {then: skip}}}]"
        )

        result = await run(text, urls=["http://a/1", "http://a/2", "http://a/3", "http://a/4"])

        assert shortfalls(result) == ("3 items failed: http_404 2, blocked 1", "1 step failed: http_404 1")

    async def test_nothing_is_told_where_nothing_was_given_up(self, run: Run, site: Any) -> None:
        site.pages["http://a/0"] = failing_first(1, failing("timeout"))
        result: PipelineResult = await run(CRAWL)
        assert shortfalls(result) == ()

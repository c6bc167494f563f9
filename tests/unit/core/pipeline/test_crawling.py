"""Crawls over a site in memory."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Eventually
from tests.unit.core.pipeline.conftest import PageInput, TextActor

from agentic.core.actors import Actor, ActorContext, ActorError, ItemOutput
from agentic.core.graph import EventKind
from agentic.core.http import url_key
from agentic.core.http.politeness.slots import idle, note_begun
from agentic.core.pipeline import PipelineResult, StepFailedError
from agentic.core.pipeline.crawl.page import PageResult
from agentic.core.pipeline.crawl.slice import SliceLimits, pages_to_take
from agentic.core.pipeline.crawl.slots import PageSlot

Run = Callable[..., Any]

CRAWL = """
name: site
steps:
  - type: crawl
    id: pages
    start: "http://a/0"
"""


def chain(count: int) -> dict[str, object]:
    """Return pages of which each links to the next and back to the first."""
    return {f"http://a/{n}": f"http://a/{(n + 1) % count} http://a/0" for n in range(count)}


def star(count: int) -> dict[str, object]:
    """Return a page that links to all others, which link nowhere."""
    rest: dict[str, object] = {f"http://a/{n}": "" for n in range(1, count)}
    return {"http://a/0": " ".join(rest), **rest}


def not_there() -> ActorError:
    return ActorError("it is gone", failure_class="http_404", status=404)


async def test_every_page_is_fetched_once(run: Run, site: Any, frontier: Any) -> None:
    site.pages.update(chain(30))
    result = await run(CRAWL)
    assert sorted(site.fetched) == sorted(site.pages)
    assert (result.pages.done, result.pages.failed, result.pages.left) == (30, 0, 0)
    assert len(frontier.urls("done")) == 30


async def test_pages_carry_title_depth_and_final_address(run: Run, site: Any, frontier: Any) -> None:
    site.pages.update(chain(3))
    await run(CRAWL)
    pages = [page for batch in frontier.commits for page in batch.done]
    assert [(p.title, p.depth, p.final_url) for p in pages] == [
        ("0", 0, "http://a/0"),
        ("1", 1, "http://a/1"),
        ("2", 2, "http://a/2"),
    ]


async def test_items_are_read_on_pages_that_fit(run: Run, site: Any, frontier: Any) -> None:
    site.pages.update(
        {"http://a/0": "http://a/item/1 http://a/2", "http://a/item/1": "lamp", "http://a/2": "x"}
    )
    await run(CRAWL + "    detail: {match: ['/item/*']}")
    pages = {page.url: page for batch in frontier.commits for page in batch.done}
    assert pages["http://a/item/1"].fields["text"] == "lamp"
    assert pages["http://a/item/1"].item_key == "http://a/item/1"
    assert pages["http://a/2"].fields == {}
    assert pages["http://a/2"].item_key is None


async def test_a_page_whose_item_cannot_be_read_fails_and_its_links_are_followed(
    run: Run, site: Any, frontier: Any, actors: Any
) -> None:
    async def refuse(self: object, ctx: object, given: object, /) -> None:
        raise ActorError("no title", failure_class="selector_missing")

    actors["extract_detail"] = type("Picky", (actors["extract_detail"],), {"run": refuse})
    site.pages.update(chain(3))
    result = await run(CRAWL + "    detail: {match: ['/1']}")
    assert frontier.urls("failed") == ["http://a/1"]
    assert result.failures["selector_missing"].examples == ("no title",)
    assert frontier.urls("done") == ["http://a/0", "http://a/2"]


async def test_pages_that_fail_are_recorded_with_their_class(run: Run, site: Any, frontier: Any) -> None:
    site.pages.update(star(3) | {"http://a/1": not_there()})
    result = await run(CRAWL)
    assert result.failures["http_404"].count == 1
    assert result.failures["http_404"].examples == ("it is gone",)
    [failed] = [page for batch in frontier.commits for page in batch.failed]
    assert (failed.url, failed.failure_class, failed.message) == ("http://a/1", "http_404", "it is gone")


async def test_pages_that_fail_for_a_moment_are_tried_again(run: Run, site: Any) -> None:
    answers = iter([TimeoutError(), TimeoutError(), "here"])
    site.pages.update(star(2) | {"http://a/1": lambda: next(answers)})
    result = await run(CRAWL + "error_handling: {timeout: {retry_count: 2, backoff_s: 0}}")
    assert (result.pages.done, result.pages.failed) == (2, 0)


async def test_pages_are_freed_when_they_end_and_not_by_the_collector(run: Run, site: Any) -> None:
    site.pages.update(star(50))
    gc.collect()
    gc.disable()
    try:
        await run(CRAWL)
        kept = [one for one in gc.get_objects() if type(one) in (PageSlot, PageResult)]
    finally:
        gc.enable()
    assert kept == []


async def test_a_rule_can_make_the_failure_of_a_page_the_pipelines(
    run: Run, site: Any, frontier: Any
) -> None:
    site.pages.update(star(3) | {"http://a/1": not_there()})
    with pytest.raises(StepFailedError, match="it is gone"):
        await run(CRAWL + "error_handling: {http_404: {then: fail}}")
    assert "http://a/1" in frontier.urls("failed")


async def test_a_crawl_that_reaches_no_page_fails(run: Run, site: Any) -> None:
    with pytest.raises(StepFailedError, match="no page of the crawl could be fetched: not there"):
        await run(CRAWL)


async def test_a_crawl_stops_at_its_limit_of_pages(run: Run, site: Any) -> None:
    site.pages.update(star(30))
    result = await run(CRAWL + "    max_pages: 10")
    assert len(site.fetched) == 10
    assert (result.pages.done, result.pages.left) == (10, 20)


async def test_limits_may_be_inputs(run: Run, site: Any) -> None:
    site.pages.update(star(9))
    text = "inputs: {limit: {type: integer}}\n" + CRAWL + '    max_pages: "${inputs.limit}"'
    result = await run(text, limit=4)
    assert result.pages.done == 4


async def test_a_limit_that_is_no_number_fails_the_step(run: Run, site: Any) -> None:
    text = "inputs: {limit: {}}\n" + CRAWL + '    max_pages: "${inputs.limit}"'
    with pytest.raises(StepFailedError, match="max_pages"):
        await run(text, limit="many")


async def test_a_start_page_may_be_an_earlier_result(run: Run, site: Any) -> None:
    site.pages.update({"http://a/0": "http://a/1 http://a/2", "http://a/1": "", "http://a/2": ""})
    result = await run("""
steps:
  - {actor: fetch, config: {url: "http://a/0"}}
  - actor: extract_list
  - {type: crawl, start: "${list_item_urls}"}
""")
    assert result.pages.done == 2


async def test_a_page_that_leads_out_of_the_crawl_is_not_stored(run: Run, site: Any, actors: Any) -> None:
    class Leading(site):  # type: ignore[misc] # a class handed over by a fixture
        async def run(self, ctx: Any, given: Any, /) -> Any:
            output = await super().run(ctx, given)
            final = given.url.replace("http://a/1", "http://elsewhere/")
            return output.model_copy(update={"page": output.page.model_copy(update={"final_url": final})})

    actors["fetch"] = Leading
    site.pages.update(star(3))
    result = await run(CRAWL)
    assert (result.pages.done, result.failures["out_of_scope"].count) == (2, 1)


class TestSlices:
    async def test_a_crawl_goes_on_slice_by_slice_and_its_messages_hold_no_pages(
        self, compiled: Any, site: Any
    ) -> None:
        site.pages.update(star(25))
        done = await compiled(CRAWL + "    slice_pages: 10\n    max_parallel: 5").run({})
        turns = [e for e in done.events if e.kind is EventKind.EXECUTOR_INVOKED and e.path == "pages"]
        assert len(turns) == 1 + 3  # seeding, then 10, 10 and 5 pages

    async def test_several_slices_are_worked_off_at_a_time_and_add_up(self, compiled: Any, site: Any) -> None:
        site.pages.update(star(60) | {"http://a/7": ActorError("gone", failure_class="http_404")})
        text = CRAWL + "    slices: 3\n    slice_pages: 10\n    max_parallel: 6"
        done = await compiled(text).run({})
        turns = [e for e in done.events if e.kind is EventKind.EXECUTOR_INVOKED and e.path == "pages"]
        result = PipelineResult.model_validate(done.output(dict))
        assert max(Counter(event.superstep for event in turns).values()) == 3
        assert result.pages is not None
        assert (result.pages.done, result.pages.failed, result.pages.left) == (59, 1, 0)
        assert (result.pages.inserted, result.failures["http_404"].count) == (59, 1)

    @pytest.mark.parametrize(("slices", "widths"), [(1, [1, 1]), (2, [1, 1, 2])])
    async def test_a_slice_is_long_except_while_others_could_help(
        self, compiled: Any, site: Any, slices: int, widths: list[int]
    ) -> None:
        site.pages.update(star(900))
        done = await compiled(f"{CRAWL}    slices: {slices}").run({})
        turns = [e for e in done.events if e.kind is EventKind.EXECUTOR_INVOKED and e.path == "pages"]
        at_a_time = Counter(event.superstep for event in turns)
        assert [at_a_time[superstep] for superstep in sorted(at_a_time)][: len(widths)] == widths
        pages = PipelineResult.model_validate(done.output(dict)).pages
        assert pages is not None
        assert pages.done == 900

    async def test_slices_share_the_limits_of_the_crawl(
        self, compiled: Any, site: Any, frontier: Any
    ) -> None:
        site.pages.update(star(60))
        text = CRAWL + "    slices: 3\n    slice_pages: 5\n    max_parallel: 3\n    max_pages: 30"
        done = await compiled(text).run({})
        pages = PipelineResult.model_validate(done.output(dict)).pages
        assert pages is not None
        assert pages.done == 30

    async def test_pages_are_written_in_batches(self, run: Run, site: Any, frontier: Any) -> None:
        site.pages.update(star(101))
        await run(CRAWL + "    commit_pages: 20\n    max_parallel: 10")
        sizes = [len(batch.done) for batch in frontier.commits]
        assert max(sizes) <= 20 + 10
        assert sum(sizes) == 101

    async def test_links_are_known_to_all_before_the_pages_in_hand_run_out(
        self, run: Run, site: Any, frontier: Any
    ) -> None:
        """The other pages end only when the link of the first one is in the frontier."""

        async def detail() -> str:
            known = {"new", "taken"}
            while not any("http://a/new" in frontier.urls(state) for state in known):  # noqa: ASYNC110 - no event
                await asyncio.sleep(0)
            return ""

        details = [f"http://a/{number}" for number in range(1, 9)]
        site.pages.update(dict.fromkeys(details, detail))
        site.pages.update(
            {"http://a/0": " ".join(["http://a/list", *details]), "http://a/list": "http://a/new"}
        )
        site.pages["http://a/new"] = ""
        async with asyncio.timeout(20):
            result = await run(CRAWL + "    max_parallel: 4\n    commit_seconds: 60")
        assert result.pages.done == 11

    async def test_so_many_pages_at_a_time_are_fetched(self, run: Run, site: Any) -> None:
        in_flight = peak = 0

        async def page() -> str:
            nonlocal in_flight, peak
            in_flight += 1
            peak = max(peak, in_flight)
            await asyncio.sleep(0)
            in_flight -= 1
            return ""

        site.pages.update(dict.fromkeys(star(30), page) | {"http://a/0": " ".join(star(30))})
        await run(CRAWL + "    max_parallel: 7")
        assert peak == 7

    async def test_a_slow_page_stalls_nobody(
        self, run: Run, site: Any, frontier: Any, eventually: Eventually
    ) -> None:
        """The slow page ends only after all others are written, which are more than a slice."""

        async def slow() -> str:
            await eventually(lambda: len(frontier.urls("done")) == 29)
            return ""

        site.pages.update(star(30) | {"http://a/1": slow})
        text = CRAWL + "    slice_pages: 5\n    commit_seconds: 0.02\n    max_parallel: 4"
        async with asyncio.timeout(20):
            result = await run(text)
        assert result.pages.done == 30

    async def test_a_slow_page_stalls_nobody_beyond_the_time_of_a_slice(
        self, run: Run, site: Any, frontier: Any, eventually: Eventually
    ) -> None:
        async def slow() -> str:
            await eventually(lambda: len(frontier.urls("done")) == 29)
            return ""

        site.pages.update(star(30) | {"http://a/1": slow})
        limits = "    slice_seconds: 0.2\n    commit_seconds: 0.02\n    max_parallel: 2\n    commit_pages: 2"
        for number in range(2, 30):
            site.pages[f"http://a/{number}"] = partial(asyncio.sleep, 0.01, "")
        async with asyncio.timeout(20):
            result = await run(CRAWL + limits)
        assert result.pages.done == 30

    async def test_pages_that_wait_for_their_host_leave_their_slots_to_others(
        self, run: Run, site: Any
    ) -> None:
        """All pages of one host wait until each of the other's was fetched."""
        is_done = asyncio.Event()
        last = 400

        async def waiting() -> str:
            async with idle():
                await is_done.wait()
            return ""

        async def ready(number: int) -> str:
            if len({url for url in site.fetched if url.startswith("http://b/")}) == last:
                is_done.set()
            return ""

        site.pages["http://s/0"] = " ".join(
            [f"http://a/{n}" for n in range(last)] + [f"http://b/{n}" for n in range(last)]
        )
        site.pages.update({f"http://a/{n}": waiting for n in range(last)})
        site.pages.update({f"http://b/{n}": partial(ready, n) for n in range(last)})
        text = (
            CRAWL.replace("http://a/0", "http://s/0") + "    follow: {same_host: false}\n    max_parallel: 4"
        )
        async with asyncio.timeout(20):
            result = await run(text)
        assert result.pages.done == 2 * last + 1
        assert len(site.fetched) == len(set(site.fetched))

    async def test_no_more_pages_work_at_a_time_than_there_are_slots(self, run: Run, site: Any) -> None:
        """Though each waits in between, and all go on at once."""
        working = most = 0
        go_on = asyncio.Event()

        async def page() -> str:
            nonlocal working, most
            async with idle(1.0, in_turn=True):
                asyncio.get_running_loop().call_later(0.02, go_on.set)
                await go_on.wait()
            working += 1
            most = max(most, working)
            await asyncio.sleep(0)
            working -= 1
            return ""

        site.pages.update(star(40))
        site.pages.update(dict.fromkeys(list(site.pages)[1:], page))
        result = await run(CRAWL + "    max_parallel: 3")
        assert (result.pages.done, most) == (40, 3)

    async def test_pages_that_still_wait_at_the_end_of_a_slice_are_begun_by_the_next(
        self, run: Run, site: Any, frontier: Any
    ) -> None:
        begun: Counter[str] = Counter()
        is_there = asyncio.Event()

        async def waiting(url: str) -> str:
            begun[url] += 1
            if begun[url] == 3:
                is_there.set()
            async with idle():
                await is_there.wait()
            return ""

        site.pages.update(star(5) | {"http://a/1": partial(waiting, "http://a/1")})
        async with asyncio.timeout(20):
            result = await run(CRAWL + "    slice_seconds: 0.05")
        assert result.pages.done == 5
        assert begun["http://a/1"] == 3
        assert frontier.claims[url_key("http://a/1")] == 1  # it was given back each time

    async def test_a_page_that_was_asked_for_is_not_begun_anew_at_the_end_of_a_slice(
        self, run: Run, site: Any
    ) -> None:
        """As one that waits for its turn between two redirects."""

        async def between() -> str:
            note_begun()
            async with idle(1.0):
                await asyncio.sleep(0.2)
            return ""

        site.pages.update(star(3) | {"http://a/1": between})
        async with asyncio.timeout(20):
            result = await run(CRAWL + "    slice_seconds: 0.05")
        assert (result.pages.done, site.fetched.count("http://a/1")) == (3, 1)

    async def test_pages_that_fetch_by_tasks_of_their_own_lose_no_slot(self, run: Run, site: Any) -> None:
        async def part() -> None:
            async with idle(1.0):
                await asyncio.sleep(0.01)

        async def page() -> str:
            await asyncio.gather(part(), part(), part())
            return ""

        site.pages.update(star(12))
        site.pages.update(dict.fromkeys(list(site.pages)[1:], page))
        async with asyncio.timeout(20):
            result = await run(CRAWL + "    max_parallel: 2")
        assert result.pages.done == 12

    async def test_pages_that_hold_what_others_wait_for_go_on(self, run: Run, site: Any) -> None:
        """One holds a lock, waits, and finds all slots taken by pages that wait for the lock."""
        lock, are_taken = asyncio.Lock(), asyncio.Event()
        begun = 0

        async def page() -> str:
            nonlocal begun
            begun += 1
            if begun == 3:
                are_taken.set()
            async with lock, idle(1.0):
                await are_taken.wait()
            return ""

        site.pages.update(star(12))
        site.pages.update(dict.fromkeys(list(site.pages)[1:], page))
        async with asyncio.timeout(20):
            result = await run(CRAWL + "    max_parallel: 2")
        assert result.pages.done == 12

    async def test_a_page_that_failed_before_keeps_its_attempts_beyond_the_time_of_a_slice(
        self, run: Run, site: Any
    ) -> None:
        site.pages.update(star(3) | {"http://a/1": ActorError("busy", failure_class="http_503", status=503)})
        rule = (
            CRAWL
            + "    slice_seconds: 0.05\n    error_handling:\n      http_503: {retry_count: 1, backoff_s: 0.2}"
        )
        async with asyncio.timeout(20):
            result = await run(rule)
        assert (result.pages.done, result.pages.failed) == (2, 1)
        assert site.fetched.count("http://a/1") == 2

    async def test_a_crawl_goes_on_where_it_was(self, run: Run, site: Any, frontier: Any) -> None:
        site.pages.update(star(20))
        await run(CRAWL + "    max_pages: 8")
        before = set(site.fetched)
        site.fetched.clear()
        result = await run(CRAWL)
        assert before.isdisjoint(site.fetched)
        assert result.pages.done == 20

    async def test_a_crawl_that_is_cancelled_leaves_what_it_has_not_written_to_others(
        self, compiled: Any, site: Any, frontier: Any
    ) -> None:
        begun = asyncio.Event()

        async def hang() -> str:
            begun.set()
            await asyncio.Event().wait()
            return ""

        site.pages.update(star(40))
        site.pages.update(dict.fromkeys(list(site.pages)[1:], hang))
        crawl = asyncio.create_task(compiled(CRAWL).run({}))
        await begun.wait()
        crawl.cancel()
        with pytest.raises(asyncio.CancelledError):
            await crawl
        assert len(frontier.urls("new")) == 39
        assert set(frontier.claims.values()) == {0, 1}

    async def test_pages_that_were_in_hand_when_processes_died_are_fetched_one_by_one_and_written_each(
        self, run: Run, site: Any, frontier: Any
    ) -> None:
        running: set[str] = set()
        beside: dict[str, set[str]] = {}

        def page(url: str) -> Callable[[], Any]:
            async def begin() -> str:
                beside[url] = set(running)
                running.add(url)
                await asyncio.sleep(0)
                running.remove(url)
                return ""

            return begin

        site.pages.update(star(30))
        site.pages.update({url: page(url) for url in list(site.pages)[1:]})
        suspects = {f"http://a/{n}" for n in range(3, 9)}
        frontier.claims.update([url_key(url) for url in suspects] * 2)
        result = await run(CRAWL)
        assert result.pages.done == 30
        assert all(not beside[url] for url in suspects)
        assert all(beside[url].isdisjoint(suspects) for url in beside)
        written = [{page.url for page in batch.done} for batch in frontier.commits]
        assert all(len(batch) == 1 for batch in written if batch & suspects)

    async def test_a_page_over_which_four_processes_died_is_given_up(
        self, run: Run, site: Any, frontier: Any
    ) -> None:
        site.pages.update(star(10))
        frontier.claims.update([url_key("http://a/5")] * 4)
        result = await run(CRAWL)
        assert result.failures["process_crashed"].count == 1
        assert result.pages.done == 9
        assert "http://a/5" not in site.fetched

    async def test_what_the_store_raises_is_raised_with_its_cause(
        self, run: Run, site: Any, frontier: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(*_: object, **__: object) -> None:
            raise OSError("no database") from ValueError("disk full")

        site.pages.update(star(3))
        monkeypatch.setattr(frontier, "exchange", fail)
        with pytest.raises(OSError, match="no database") as caught:
            await run(CRAWL)
        assert isinstance(caught.value.__cause__, ValueError)

    async def test_progress_is_reported_with_each_commit(self, compiled: Any, site: Any) -> None:
        site.pages.update(star(10))
        stream = compiled(CRAWL).run_stream({})
        told = [e.data async for e in stream if e.kind is EventKind.EXECUTOR_PROGRESS]
        assert told[0]["total"] == 10
        assert told[-1]["done"] == 10


LIMITS = SliceLimits(pages=200, seconds=30, budget=10_000, commit_pages=50, commit_seconds=1, max_parallel=16)


class TestPagesToTake:
    def test_a_slice_takes_its_pages(self) -> None:
        assert pages_to_take(LIMITS, 0, 0.0, 0.0) == 200
        assert pages_to_take(LIMITS, 200, 0.0, 0.0) == 0

    def test_it_goes_on_while_a_page_is_slow(self) -> None:
        assert pages_to_take(LIMITS, 200, 5.0, 1.5) > 0

    def test_it_takes_nothing_once_its_time_is_over(self) -> None:
        assert pages_to_take(LIMITS, 3, 30.0, 0.9) == 0
        assert pages_to_take(LIMITS, 3, 30.0, 0.9, is_waiting=True) == 0

    def test_it_goes_on_beyond_its_time_while_a_page_is_slow_but_not_for_ever(self) -> None:
        assert pages_to_take(LIMITS, 3, 30.0, 5.0) == 9_997
        assert pages_to_take(LIMITS, 3, 120.0, 5.0) == 0

    def test_it_takes_more_than_its_pages_while_one_waits_for_its_host(self) -> None:
        assert pages_to_take(LIMITS, 200, 5.0, 0.5, is_waiting=True) == 9_800

    @given(st.integers(0, 20_000), st.floats(0, 60), st.floats(0, 60))
    def test_it_never_takes_more_than_the_crawl_may(self, taken: int, elapsed: float, slowest: float) -> None:
        assert taken + max(pages_to_take(LIMITS, taken, elapsed, slowest), 0) <= max(taken, LIMITS.budget)


LOOP = """
name: site
inputs:
  urls: {type: list}
steps:
  - type: loop
    source: urls
    loop_steps:
      - actor: fetch
      - actor: odd
"""


class OddActor(TextActor):
    """Reads the text of a page and cannot read its price; counts every page by one subject."""

    name = "odd"

    async def run(self, ctx: ActorContext, given: PageInput, /) -> ItemOutput:
        ctx.warn_about("field 'price'", f"'Sold out' on {given.page.final_url}")
        return ItemOutput(item={"url": given.page.final_url, "price": None, "title": "t"})


async def test_fields_that_cannot_be_read_are_one_warning_with_their_number(
    run: Run, site: Any, actors: dict[str, type[Actor]]
) -> None:
    actors["odd"] = OddActor
    site.pages.update(chain(30))
    result = await run(CRAWL + "    detail: {match: ['*'], actor: odd}\n")
    assert result.warnings == (
        "step 1 pages: 'Sold out' on http://a/0 (1 of 30 warnings about field 'price')",
    )


async def test_a_loop_counts_the_fields_that_it_cannot_read(
    run: Run, site: Any, actors: dict[str, type[Actor]]
) -> None:
    actors["odd"] = OddActor
    site.pages.update(chain(3))
    result = await run(LOOP, urls=[*site.pages])
    assert [warning.partition(": ")[2] for warning in result.warnings] == [
        "'Sold out' on http://a/0 (1 of 3 warnings about field 'price')"
    ]

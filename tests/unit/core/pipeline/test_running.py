"""Compiled pipelines: steps in a row, loops, and what they do about failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from agentic.core.actors import ActorError
from agentic.core.pipeline import PipelineInputError, PipelineSpec, StepFailedError, read_spec

Run = Callable[..., Any]
MakeActor = Callable[..., Any]

SHOP = """
name: shop
inputs: {start: {default: "http://shop/"}}
steps:
  - {actor: fetch, config: {url: "${inputs.start}"}}
  - actor: extract_list
  - type: loop
    source: list_item_urls
    loop_steps: [{actor: fetch}, {actor: extract_detail}]
  - {actor: aggregate, config: {key: url}}
"""


def failing_with(failure_class: str, status: int | None = None) -> ActorError:
    return ActorError(f"it was {failure_class}", failure_class=failure_class, status=status)


def in_turn(*answers: object) -> Callable[[], object]:
    """Return a function that gives the answers one after the other."""
    waiting: Iterator[object] = iter(answers)
    return lambda: next(waiting)


@pytest.fixture
def shop(site: Any) -> dict[str, object]:
    pages: dict[str, object] = site.pages
    pages.update(
        {"http://shop/": "http://shop/1 http://shop/2", "http://shop/1": "one", "http://shop/2": "two"}
    )
    return pages


class TestSteps:
    @pytest.mark.requirement("SP08", "SP13")
    async def test_steps_run_in_order_and_take_what_earlier_ones_gave(
        self, run: Run, make_actor: MakeActor
    ) -> None:
        make_actor("split", lambda text, by: text.split(by), gives="words")
        make_actor("pick", lambda words, item: {"word": words[item]}, gives="items")
        result = await run(
            """
inputs: {text: {}, n: {type: integer, default: 1}}
steps:
  - {actor: split, config: {by: "-"}}
  - {actor: pick, config: {item: "${inputs.n}"}}
""",
            text="a-b-c",
        )
        assert result.items == ({"word": "b"},)

    async def test_the_newest_result_of_a_name_wins(self, run: Run, make_actor: MakeActor) -> None:
        make_actor("add", lambda text, tail: text + tail, gives="text")
        make_actor("keep", lambda text: [{"text": text}], gives="items")
        result = await run("""
inputs: {text: {default: a}}
steps:
  - {actor: add, config: {tail: b}}
  - {actor: add, config: {tail: c}}
  - {actor: keep}
""")
        assert result.items == ({"text": "abc"},)

    async def test_results_have_the_name_of_their_step_or_another(
        self, run: Run, make_actor: MakeActor
    ) -> None:
        make_actor("add", lambda text, tail: text + tail, gives="text")
        make_actor("keep", lambda a, b, c: [{"a": a, "b": b, "c": c}], gives="items")
        result = await run("""
inputs: {text: {default: "-"}}
steps:
  - {actor: add, config: {tail: "1"}, id: one}
  - {actor: add, config: {tail: "2"}, save_as: two}
  - {actor: add, config: {tail: "3"}}
  - {actor: keep, config: {a: "${one.text}", b: "${two.text}", c: "${add_2.text}"}}
""")
        assert result.items == ({"a": "-1", "b": "-12", "c": "-123"},)

    async def test_inputs_are_checked_before_anything_runs(self, run: Run, site: Any) -> None:
        with pytest.raises(PipelineInputError, match="unknown input 'strat'"):
            await run(SHOP, strat="x")
        assert site.fetched == []

    @pytest.mark.requirement("SP22")
    async def test_the_same_spec_gives_the_same_run(self, compiled: Any, shop: Any) -> None:
        workflow = compiled(SHOP)
        runs = [await workflow.run({}, run_id=f"run-{n}") for n in range(2)]
        first, second = (
            [(e.kind, e.sequence, e.superstep, e.path, e.shard) for e in done.events] for done in runs
        )
        assert first == second
        assert runs[0].output(dict) == runs[1].output(dict)

    @pytest.mark.requirement("SP01", "SP03")
    async def test_a_plan_made_as_data_is_run_without_anything_of_its_maker(
        self, actors: Any, run: Run, shop: Any
    ) -> None:
        plan = {"steps": [{"actor": "fetch", "config": {"url": "http://shop/"}}, {"actor": "extract_list"}]}
        spec = read_spec(plan, actors)
        assert isinstance(spec, PipelineSpec)
        first = await run(spec.model_dump_json())
        assert first == await run(spec.model_dump_json())


class TestLoops:
    @pytest.mark.requirement("SP09", "SP20")
    async def test_a_loop_runs_its_steps_for_each_item(self, run: Run, shop: Any) -> None:
        result = await run(SHOP)
        assert result.items == (
            {"url": "http://shop/1", "text": "one"},
            {"url": "http://shop/2", "text": "two"},
        )
        assert result.counts["items"] == 2

    async def test_results_keep_the_order_of_the_items(self, run: Run, shop: Any) -> None:
        later = asyncio.Event()

        async def first() -> str:
            await later.wait()
            return "one"

        def second() -> str:
            later.set()
            return "two"

        shop.update({"http://shop/1": first, "http://shop/2": second})
        assert [item["text"] for item in (await run(SHOP)).items] == ["one", "two"]

    async def test_a_loop_over_an_empty_list_gives_no_items(self, run: Run, shop: Any) -> None:
        shop["http://shop/"] = ""
        assert (await run(SHOP)).items == ()

    async def test_an_item_that_fails_is_listed_with_its_reason_and_the_others_go_on(
        self, run: Run, shop: Any
    ) -> None:
        shop["http://shop/1"] = failing_with("http_404", 404)
        result = await run(SHOP)
        assert [item["text"] for item in result.items] == ["two"]
        [failed] = result.failed_items
        assert (failed.step, failed.item, failed.failure_class) == ("loop/fetch", "http://shop/1", "http_404")
        assert result.failures["http_404"].examples == ("it was http_404",)
        assert result.counts["failed_items"] == 1

    async def test_a_rule_can_make_the_failure_of_an_item_the_pipelines(self, run: Run, shop: Any) -> None:
        shop["http://shop/1"] = failing_with("http_404", 404)
        with pytest.raises(StepFailedError, match="loop/fetch"):
            await run(SHOP + "error_handling: {http_404: {then: fail}}")

    async def test_items_beyond_the_limit_are_counted(self, run: Run, shop: Any) -> None:
        result = await run(SHOP.replace("type: loop", "type: loop\n    max_items: 1"))
        assert (result.counts["items"], result.counts["left_out"]) == (1, 1)

    async def test_loops_may_stand_in_loops(self, run: Run, site: Any) -> None:
        site.pages.update(
            {
                "http://a/": "http://a/x http://a/y",
                "http://a/x": "http://a/1",
                "http://a/y": "http://a/2 http://a/3",
                "http://a/1": "one",
                "http://a/2": failing_with("empty"),
                "http://a/3": "three",
            }
        )
        result = await run("""
steps:
  - {actor: fetch, config: {url: "http://a/"}}
  - actor: extract_list
  - type: loop
    id: lists
    source: list_item_urls
    collect: items
    loop_steps:
      - actor: fetch
      - actor: extract_list
      - type: loop
        id: details
        source: list_item_urls
        loop_steps: [{actor: fetch}, {actor: extract_detail}]
""")
        texts = [[item["text"] for item in found["value"]] for found in result.items]
        assert texts == [["one"], ["three"]]
        [failed] = result.failed_items
        assert (failed.step, failed.item) == ("lists/details/fetch", "http://a/2")

    async def test_what_is_no_list_cannot_be_looped_over(self, run: Run, shop: Any) -> None:
        with pytest.raises(StepFailedError, match="is a str; a loop needs a list"):
            await run(SHOP.replace("source: list_item_urls", "source: title"))


class TestFailures:
    @pytest.mark.requirement("SP12")
    async def test_a_step_that_times_out_is_tried_again(self, run: Run, shop: Any) -> None:
        shop["http://shop/"] = in_turn(TimeoutError(), TimeoutError(), "http://shop/1")
        result = await run(SHOP + "error_handling: {timeout: {retry_count: 2, backoff_s: 0}}")
        assert [item["text"] for item in result.items] == ["one"]
        [retried] = result.retried
        assert [(a.actor, a.failure_class, a.action) for a in retried.attempts] == [
            ("fetch", "timeout", "retry"),
            ("fetch", "timeout", "retry"),
            ("fetch", None, ""),
        ]

    @pytest.mark.requirement("SP11")
    async def test_a_refused_page_is_fetched_by_another_actor(
        self, run: Run, shop: Any, actors: Any, site: Any
    ) -> None:
        other = type("Other", (site,), {"name": "firecrawl_api", "pages": {"http://shop/1": "uno"}})
        actors["firecrawl_api"] = other
        shop["http://shop/1"] = failing_with("http_403", 403)
        result = await run(SHOP + "error_handling: {403_error: {retry_with_actor: firecrawl_api}}")
        assert [item["text"] for item in result.items] == ["uno", "two"]
        assert [a.actor for a in result.retried[0].attempts] == ["fetch", "firecrawl_api"]

    @pytest.mark.parametrize("actor", ["ask", "ask_too"])
    async def test_a_fallback_has_a_config_of_its_own_even_for_the_same_actor(
        self, run: Run, make_actor: Any, actor: str
    ) -> None:
        def answer(question: str, mode: str = "http") -> list[dict[str, str]]:
            if mode == "http":
                raise ActorError("go away", failure_class="blocked", status=403)
            return [{"question": question, "mode": mode}]

        make_actor("ask", answer, gives="items", aliases=["ask_too"])
        result = await run(f"""
steps:
  - actor: ask
    config: {{question: why}}
    error_handling:
      blocked: {{retry_with_actor: {{actor: {actor}, config: {{mode: browser}}}}}}
""")
        assert result.items == ({"question": "why", "mode": "browser"},)

    async def test_a_fallback_of_a_crawl_has_a_config_of_its_own(
        self, run: Run, site: Any, actors: Any
    ) -> None:
        class OtherInput(BaseModel):
            url: str
            mode: str = "http"

        async def fetched(self: Any, ctx: object, given: OtherInput, /) -> object:
            if given.mode == "http":
                raise ActorError("go away", failure_class="blocked", status=403)
            return await site.run(self, ctx, given)

        actors["fetch"] = type("Other", (site,), {"Input": OtherInput, "run": fetched})
        site.pages["http://a/0"] = "text"
        result = await run("""
steps: [{type: crawl, start: "http://a/0"}]
error_handling:
  blocked: {retry_with_actor: {actor: fetch, config: {mode: browser}}}
""")
        assert result.pages.done == 1

    async def test_a_fallback_of_the_pipeline_is_for_steps_it_can_stand_in_for(
        self, run: Run, shop: Any, actors: Any, site: Any
    ) -> None:
        actors["firecrawl_api"] = type("Other", (site,), {"name": "firecrawl_api"})
        shop["http://shop/1"] = ""
        result = await run(SHOP + "error_handling: {'*': {retry_with_actor: firecrawl_api}}")
        [failed] = result.failed_items
        assert [a.actor for a in failed.attempts] == ["extract_detail"]

    async def test_a_step_that_fails_for_good_fails_the_pipeline_and_says_why(
        self, run: Run, shop: Any
    ) -> None:
        shop["http://shop/"] = failing_with("http_500", 500)
        with pytest.raises(StepFailedError) as caught:
            await run(SHOP + "error_handling: {http_5xx: {retry_count: 1, backoff_s: 0}}")
        assert str(caught.value) == (
            "step 'fetch' failed after 2 attempts (http_500): it was http_500; a rule for 'http_500' in "
            "error_handling can retry or skip it"
        )
        assert caught.value.failure_class == "http_500"

    async def test_a_skipped_step_takes_with_it_those_that_need_its_results(
        self, run: Run, shop: Any, site: Any
    ) -> None:
        shop["http://shop/"] = failing_with("http_500", 500)
        result = await run(SHOP + "error_handling: {http_500: {then: skip}}")
        assert result.skipped == ("fetch", "extract_list", "loop", "aggregate")
        assert [f.step for f in result.failed_items] == ["fetch"]
        assert site.fetched == ["http://shop/"]

    async def test_an_older_result_does_not_stand_in_for_one_that_was_skipped(
        self, run: Run, shop: Any
    ) -> None:
        result = await run("""
steps:
  - {actor: fetch, config: {url: "http://shop/1"}}
  - {actor: fetch, config: {url: "http://shop/none"}, error_handling: {http_404: {then: skip}}}
  - actor: extract_list
""")
        assert result.skipped == ("fetch_2", "extract_list")

    async def test_a_step_has_a_time_limit(self, run: Run, shop: Any) -> None:
        shop["http://shop/"] = in_turn(asyncio.Event().wait())
        text = (
            "steps: [{actor: fetch, timeout_s: 0.01, config: {url: 'http://shop/'}}]\n"
            "error_handling: {timeout: {retry_count: 0}}"
        )
        with pytest.raises(StepFailedError, match=r"actor 'fetch' exceeded 0\.01 s") as caught:
            await run(text)
        assert caught.value.failure_class == "timeout"

    async def test_a_reference_that_finds_nothing_fails_the_step(
        self, run: Run, make_actor: MakeActor
    ) -> None:
        make_actor("make", lambda: {"a": 1}, gives="thing")
        make_actor("use", lambda part: part, gives="items")
        text = "steps: [{actor: make}, {actor: use, config: {part: '${thing.b}'}}]"
        with pytest.raises(StepFailedError, match="finds no 'b'"):
            await run(text)


@pytest.mark.requirement("SP08", "SP09", "SP11", "SP12")
async def test_a_pipeline_in_the_words_of_its_inventors_runs(
    run: Run, shop: Any, actors: Any, site: Any
) -> None:
    """The shape of the first sketch: bare steps, ``loop_steps``, ``403_error``, ``timeout``."""
    actors["InitialFetcher"] = actors["fetch"]
    actors["ExtractList"] = actors["extract_list"]
    actors["ExtractDetail"] = actors["extract_detail"]
    actors["firecrawl_api"] = type(
        "Other", (site,), {"name": "firecrawl_api", "pages": {"http://shop/2": "dos"}}
    )
    shop.update(
        {"http://shop/1": in_turn(TimeoutError(), "one"), "http://shop/2": failing_with("http_403", 403)}
    )
    result = await run("""{
      "steps": [
        {"actor": "InitialFetcher", "config": {"url": "http://shop/"}},
        {"actor": "ExtractList", "config": {"item_selector": ".job-card"}},
        {"type": "loop", "source": "list_item_urls", "loop_steps": [
          {"actor": "FetchDetail", "config": {}},
          {"actor": "ExtractDetail", "config": {}}
        ]},
        {"actor": "DataAggregator", "config": {}}
      ],
      "error_handling": {
        "403_error": {"retry_with_actor": "firecrawl_api"},
        "timeout": {"retry_count": 2, "backoff_s": 0}
      }
    }""")
    assert [item["text"] for item in result.items] == ["one", "dos"]

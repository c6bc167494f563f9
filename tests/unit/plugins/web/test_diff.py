"""What has changed since the last time."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from agentic.core.actors import ActorContext, ActorError
from agentic.core.http import Fetcher, HttpPolicy
from agentic.core.types import JSONValue
from agentic.plugins.web.actors.diff import DiffActor, DiffInput, compare, remembered

OLD = "<h1>Lamps</h1><p>Price: <b>5</b> EUR</p><script>a()</script><ul><li>red</li><li>blue</li></ul>"
NEW = "<h1>Lamps</h1><p>Price: <b>6</b> EUR</p><script>b()</script><ul><li>blue</li><li>red</li></ul>"


@pytest.fixture
def ctx() -> ActorContext:
    return ActorContext(http=Fetcher(HttpPolicy(), None))  # type: ignore[arg-type]  # nothing is fetched


async def look(ctx: ActorContext, **given: Any) -> Any:
    return await DiffActor().run(ctx, DiffInput.model_validate(given))


async def test_the_first_time_all_is_new(ctx: ActorContext, page: Any) -> None:
    found = await look(ctx, page=page(OLD))
    assert (found.key, found.is_new, found.changed) == ("http://shop.example/list/", True, False)


async def test_the_lines_that_changed_are_told_and_those_that_moved_are_not(
    ctx: ActorContext, page: Any
) -> None:
    await look(ctx, page=page(OLD))
    found = await look(ctx, page=page(NEW))
    assert (found.is_new, found.changed) == (False, True)
    assert (found.added, found.removed) == (("Price: 6 EUR",), ("Price: 5 EUR",))
    assert found.similarity == 0.75


async def test_what_is_the_same_is_unchanged_whatever_its_scripts(ctx: ActorContext, page: Any) -> None:
    await look(ctx, page=page(OLD))
    found = await look(ctx, page=page(OLD.replace("a()", "b()")))
    assert (found.changed, found.similarity) == (False, 1.0)


async def test_only_what_the_selector_fits_is_looked_at(ctx: ActorContext, page: Any) -> None:
    await look(ctx, key="stock", page=page(OLD), selector="h1")
    assert not (await look(ctx, key="stock", page=page(NEW), selector="h1")).changed


async def test_a_text_may_be_given_instead_of_a_page(ctx: ActorContext, page: Any) -> None:
    await look(ctx, key="k", content="one\n\n two  words", page=page(OLD))
    found = await look(ctx, key="k", content="two words\nthree")
    assert (found.added, found.removed) == (("three",), ("one",))


async def test_a_page_that_is_no_html_is_compared_line_by_line(ctx: ActorContext, page: Any) -> None:
    await look(ctx, page=page("a,b\n1,2", content_type="text/csv"))
    assert (await look(ctx, page=page("a,b\n1,3", content_type="text/csv"))).added == ("1,3",)


async def test_a_call_that_is_made_again_says_the_same_again(ctx: ActorContext, page: Any) -> None:
    done: dict[str, JSONValue] = {}

    async def once(name: str, work: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        if name not in done:
            done[name] = await work()
        return done[name]

    await look(ctx, page=page(OLD))
    first = await look(replace(ctx, once=once), page=page(NEW))
    assert await look(replace(ctx, once=once), page=page(NEW)) == first
    assert first.changed


def test_of_a_text_too_long_to_keep_only_that_it_changed_is_known() -> None:
    long = [os.urandom(64).hex() for _ in range(2_000)]
    earlier, now = remembered(long), remembered(["short"])
    assert earlier["text"] is None
    found = compare("k", earlier, now, ["short"])
    assert (found.changed, found.added, found.similarity) == (True, (), None)


def test_a_text_may_become_empty_and_come_back() -> None:
    gone = compare("k", remembered(["a"]), remembered([]), [])
    back = compare("k", remembered([]), remembered(["a"]), ["a"])
    assert (gone.removed, back.added, back.removed) == (("a",), ("a",), ())


@pytest.mark.parametrize(
    ("given", "failure_class"),
    [
        ({}, "empty"),
        ({"content": "a"}, "empty"),
        ({"html": "<p>", "selector": ".gone"}, "selector_missing"),
        ({"html": "{}", "selector": "p", "content_type": "application/json"}, "not_html"),
    ],
)
async def test_what_cannot_be_compared_is_a_failure(
    ctx: ActorContext, page: Any, given: dict[str, Any], failure_class: str
) -> None:
    if html := given.pop("html", None):
        given["page"] = page(html, content_type=given.pop("content_type", "text/html"))
    with pytest.raises(ActorError) as caught:
        await look(ctx, **given)
    assert caught.value.failure_class == failure_class

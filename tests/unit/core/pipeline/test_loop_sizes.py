"""What the items of a loop carry: themselves, and what the steps of the loop look at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentic.core.graph import MemoryCheckpointStore
from agentic.core.types import RunId

Compile = Callable[[str], Any]
Run = Callable[..., Any]
MakeActor = Callable[..., Any]
Stored = Callable[..., Awaitable[int]]

LARGE = 20_000

SHOUTING = """
inputs: {words: {type: list}, note: {default: ""}}
steps:
  - {actor: gather, config: {size: SIZE}}
  - {type: loop, source: words, item_as: word, collect: loud, loop_steps: [{actor: shout}]}
  - {actor: weigh, config: {what: "${gathered}"}}
"""

NESTED = """
inputs: {words: {type: list}, note: {default: ""}}
steps:
  - {actor: gather, config: {size: SIZE}}
  - type: loop
    source: "`[1]`"
    item_as: once
    collect: "[items, weight]"
    loop_steps:
      - {actor: hoard, config: {size: SIZE}}
      - {type: loop, source: words, item_as: word, collect: loud, loop_steps: [{actor: shout}]}
      - {actor: weigh, config: {what: "${hoard}"}}
  - {actor: weigh, config: {what: "${gathered}"}}
"""

SHADOWED = """
inputs: {words: {type: list}, note: {default: ""}}
steps:
  - {actor: gather, config: {size: SIZE}}
  - {type: loop, source: words, item_as: gathered, collect: loud, loop_steps: [
      {actor: hoard, config: {size: 1}}, {actor: weigh, config: {what: "${hoard}"}},
      {actor: shout, config: {word: "${gathered}"}}]}
  - {actor: weigh, config: {what: "${gather.gathered}"}}
"""


@pytest.fixture(autouse=True)
def talking(make_actor: MakeActor) -> None:
    make_actor("gather", lambda size: "g" * size, gives="gathered")
    make_actor("hoard", lambda size: "h" * size, gives="hoard")
    make_actor("shout", lambda word: word.upper(), gives="loud")
    make_actor("weigh", lambda what: len(what or ""), gives="weight")


@pytest.fixture
def stored(compiled: Compile) -> Stored:
    """Run a pipeline; return how much is stored of it: its checkpoints and what it told."""

    async def stored(text: str, size: int, **inputs: Any) -> int:
        store = MemoryCheckpointStore()
        done = await compiled(text.replace("SIZE", str(size))).run(inputs, run_id="r", checkpoints=store)
        told = sum(len(e.to_json()) + sum(map(len, e.contents.values())) for e in done.events)
        kept: int = sum(found.size_bytes for found in await store.list_metadata(run_id=RunId("r")))
        return told + kept

    return stored


def words(count: int) -> list[str]:
    return [f"word{number:03}" for number in range(count)]


@pytest.mark.parametrize("text", [SHOUTING, NESTED, SHADOWED])
async def test_an_item_costs_the_same_whatever_is_known_around_its_loop(stored: Stored, text: str) -> None:
    async def forty_more(size: int) -> int:
        return await stored(text, size, words=words(60)) - await stored(text, size, words=words(20))

    assert abs(await forty_more(LARGE) - await forty_more(1)) < LARGE


async def test_an_item_costs_the_same_whatever_the_inputs_are(stored: Stored) -> None:
    async def forty_more(note: str) -> int:
        few = await stored(SHOUTING, 1, words=words(20), note=note)
        many = await stored(SHOUTING, 1, words=words(60), note=note)
        return many - few

    assert abs(await forty_more("n" * LARGE) - await forty_more("n")) < LARGE


async def test_a_page_that_a_loop_fetches_itself_does_not_bring_the_one_around_it_along(
    stored: Stored, site: Any
) -> None:
    text = """
inputs: {urls: {type: list}}
steps:
  - {actor: fetch, config: {url: "http://list/SIZE"}}
  - {type: loop, source: urls, collect: item, loop_steps: [{actor: fetch}, {actor: extract_detail}]}
"""
    urls = [f"http://shop/{word}" for word in words(60)]
    site.pages.update({"http://list/1": "l", f"http://list/{LARGE}": "l" * LARGE, **dict.fromkeys(urls, "x")})

    async def forty_more(size: int) -> int:
        return await stored(text, size, urls=urls) - await stored(text, size, urls=urls[:20])

    assert abs(await forty_more(LARGE) - await forty_more(1)) < LARGE


async def test_steps_of_a_loop_see_what_is_around_it(run: Run, make_actor: MakeActor) -> None:
    make_actor("join", lambda parts: "/".join(map(str, parts)), gives="line")
    result = await run(
        """
inputs: {words: {type: list}, end: {default: "."}}
steps:
  - {actor: gather, save_as: before, config: {size: 2}}
  - type: loop
    source: words
    item_as: word
    collect: outcome
    loop_steps:
      - {actor: hoard, when: "word == 'b'", config: {size: 1}}
      - type: choose
        when: "before.gathered == 'gg'"
        steps: [{actor: shout}]
        otherwise: [{actor: shout, config: {word: no}}]
      - type: pipeline
        id: inner
        inputs: {text: "${loud}", end: "${inputs.end}"}
        pipeline:
          inputs: {text: {}, end: {}}
          steps:
            - {type: loop, source: "[text]", item_as: it, collect: line, loop_steps: [
                {actor: join, config: {parts: ["${it}", "${inputs.end}"]}}]}
      - actor: join
        save_as: outcome
        config: {parts: ["${word}", "${before.gathered}", "${inner.items[0].value}"]}
""",
        words=["a", "b"],
    )
    assert [item["line"] for item in result.items] == ["a/gg/A/.", "b/gg/B/."]


async def test_a_step_that_is_passed_over_leaves_what_is_known_around_the_loop(run: Run) -> None:
    result = await run(
        """
inputs: {sizes: {type: list}}
steps:
  - {actor: hoard, config: {size: 3}}
  - type: loop
    source: sizes
    item_as: size
    collect: weight
    loop_steps: [{actor: hoard, when: "size > `1`"}, {actor: weigh, config: {what: "${hoard.hoard}"}}]
""",
        sizes=[1, 2],
    )
    assert [item["value"] for item in result.items] == [3, 2]


async def test_a_step_that_a_loop_runs_anew_is_given_what_it_was_given_first(
    run: Run, make_actor: MakeActor
) -> None:
    logins: list[object] = []
    answers = iter([PermissionError("who are you?"), "in"])

    def enter(door: str) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return f"{door} {answer}"

    def login(user: object) -> str:
        logins.append(user)
        return "session"

    make_actor("login", login, gives="session")
    make_actor("enter", enter, gives="entered")
    result = await run(
        """
inputs: {user: {}, doors: {type: list}}
steps:
  - {actor: login, config: {user: "${inputs.user}"}}
  - type: loop
    source: doors
    item_as: door
    collect: entered
    loop_steps: [{actor: enter, error_handling: {"*": {rerun: login}}}]
""",
        user="ada",
        doors=["front"],
    )
    assert [item["value"] for item in result.items] == ["front in"]
    assert logins == ["ada", "ada"]

"""Wrappers of fields in SQL, on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from threading import Thread

import pytest
from sqlalchemy import func, select, update
from tests.unit.core.pipeline.drift.healthy import KIND
from tests.unit.core.wrappers.pages import LAMPS, learnt
from tests.unit.mappers.test_held_pages import PAGES, SLICE, Crawl, drifted, page

from agentic.core.pipeline.crawl.follow import frontier_link
from agentic.core.pipeline.crawl.store import CrawlBatch, CrawledPage, FrontierEntry, SliceId
from agentic.core.pipeline.drift.learning import LearntField, wrapper_keys
from agentic.core.pipeline.spec.spec import DetailRules
from agentic.core.types import JSONValue
from agentic.core.wrappers import Wrapper, encode, merge
from agentic.mappers import AgentModel, Database, ProjectModel, add_project
from agentic.mappers.crawl.wrappers import (
    KEPT_WRAPPERS,
    learn_wrappers,
    list_wrappers,
    load_wrappers,
    merge_wrappers,
    save_wrappers,
)
from agentic.mappers.tables.core import FieldWrapperModel

RULES = DetailRules(
    match=("*/lamp/*",), config={"schema": {"title": "h1", "price": {"selector": ".price", "type": "number"}}}
)
KEYS = wrapper_keys(RULES)


def keyed(wrappers: Mapping[str, Wrapper]) -> dict[str, Wrapper]:
    return {KEYS[name]: wrappers[name] for name in KEYS}


def known(crawl: Crawl) -> dict[str, Wrapper]:
    with crawl.database.reading() as session:
        return load_wrappers(session, crawl.agent.project_id, "lamps", KEYS)


def load(database: Database, project: ProjectModel, pipeline: str = "lamps") -> dict[str, Wrapper]:
    with database.reading() as session:
        return load_wrappers(session, project.id, pipeline, KEYS)


def add(database: Database, project: ProjectModel, wrappers: Mapping[str, Wrapper]) -> None:
    with database.writing() as session:
        merge_wrappers(session, project.id, "lamps", keyed(wrappers))


def test_wrappers_are_loaded_by_field_as_they_were_saved(database: Database, project: ProjectModel) -> None:
    wrappers = learnt(LAMPS[:2])
    with database.writing() as session:
        save_wrappers(session, project.id, "lamps", keyed(wrappers))
    assert load(database, project) == {name: wrappers[name] for name in KEYS}
    with database.writing() as session:
        save_wrappers(session, project.id, "lamps", keyed(learnt(LAMPS[2:])))
    assert load(database, project)["title"].pages == 1


def test_a_run_adds_to_the_runs_before_it(database: Database, project: ProjectModel) -> None:
    add(database, project, learnt(LAMPS[:1]))
    add(database, project, learnt(LAMPS[1:]))
    found = load(database, project)
    assert found["price"] == merge(learnt(LAMPS[:1])["price"], learnt(LAMPS[1:])["price"])
    assert found["price"].pages == 3


def test_wrappers_belong_to_one_project_and_one_pipeline(database: Database, project: ProjectModel) -> None:
    with database.writing() as session:
        other = add_project(session, "other")
    add(database, project, learnt())
    assert load(database, other) == {}
    assert load(database, project, "others") == {}
    with database.writing() as session:
        save_wrappers(session, other.id, "lamps", keyed(learnt(LAMPS[:1])))
    assert load(database, project)["title"].pages == 3
    with database.reading() as session:
        assert {one.wrapper.pages for one in list_wrappers(session, other.id)} == {1}


def test_versions_share_the_wrappers_of_fields_whose_rules_did_not_change() -> None:
    changed: dict[str, JSONValue] = {
        "title": {"selector": "h1"},
        "price": {"selector": ".cost", "type": "number"},
        "sku": ".sku",
    }
    newer = wrapper_keys(DetailRules(match=RULES.match, config={"schema": changed, "json_schema": None}))
    assert newer["title"] == KEYS["title"]
    assert newer["price"] != KEYS["price"]
    assert len(set(newer.values())) == 3
    assert wrapper_keys(DetailRules(match=("*/shade/*",), config=RULES.config)).keys() == KEYS.keys()
    assert wrapper_keys(DetailRules(match=("*/shade/*",), config=RULES.config))["title"] != KEYS["title"]
    assert wrapper_keys(DetailRules(match=("*",), config={"schema": "${inputs.schema}"})) == {}


@pytest.mark.parametrize("before", [0, 1])
def test_all_that_learn_at_once_count(database: Database, project: ProjectModel, before: int) -> None:
    if before:
        add(database, project, learnt(LAMPS[:1]))
    threads = [Thread(target=add, args=(database, project, learnt(LAMPS[1:2]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.pages for one in load(database, project).values()} == {before + 4}


def test_unreadable_wrapper_is_learnt_again(database: Database, project: ProjectModel) -> None:
    add(database, project, learnt(LAMPS[:1]))
    with database.writing() as session:
        session.execute(update(FieldWrapperModel).values(wrapper='{"name":"title","v":9}'))
    assert load(database, project) == {}
    add(database, project, learnt(LAMPS[:1]))
    assert load(database, project)["title"].pages == 1


def test_a_pipeline_keeps_a_limited_number_of_small_wrappers(
    database: Database, project: ProjectModel
) -> None:
    wrapper = learnt()["about"]
    with database.writing() as session:
        save_wrappers(session, project.id, "lamps", {f"{n:032}": wrapper for n in range(KEPT_WRAPPERS)})
    add(database, project, learnt())
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(FieldWrapperModel)) == KEPT_WRAPPERS
        longest = session.scalar(select(func.max(func.length(FieldWrapperModel.wrapper))))
    assert longest is not None
    assert longest <= 2_048
    assert load(database, project).keys() == KEYS.keys()


async def test_a_killed_crawl_teaches_the_pages_that_it_has_written_once(
    database: Database, agent: AgentModel
) -> None:
    crawl = Crawl(database, agent)
    store = crawl.store()
    await store.seed([frontier_link(f"http://site/{number}", 0) for number in range(4)])
    one, two, *_ = (await store.exchange(SLICE, CrawlBatch(), 4)).entries
    fields = [LearntField(KIND.key, KEYS[name], learnt(LAMPS[:1])[name]) for name in KEYS]

    def taught(entry: FrontierEntry) -> CrawledPage:
        return replace(page(entry.url, entry.url_key, price=3.0), learnt=tuple(fields))

    await store.exchange(SLICE, CrawlBatch(done=[taught(one)]), 0)
    assert known(crawl) == {}  # killed here: only what has ended well is learnt
    again = crawl.store()
    await again.begin(SliceId(superstep=2))
    await again.exchange(SliceId(superstep=2), CrawlBatch(done=[taught(one), taught(two)]), 0)
    for _ in range(2):
        with database.writing() as session:
            learn_wrappers(session, crawl.execution, "lamps")
        assert [wrapper.pages for wrapper in known(crawl).values()] == [2, 2]


async def test_accepted_pages_take_the_place_of_those_before_and_others_teach_nothing(
    database: Database, agent: AgentModel
) -> None:
    for is_accepted in (False, True):
        crawl = Crawl(database, agent)
        with database.writing() as session:
            save_wrappers(session, agent.project_id, "lamps", keyed(learnt()))
        store, _ = await drifted(crawl)
        fields = tuple(LearntField(KIND.key, KEYS[name], learnt(LAMPS[:1])[name]) for name in KEYS)
        await store.release(is_accepted=is_accepted)
        (entry, *_) = (await store.exchange(SLICE, CrawlBatch(), PAGES)).entries
        taught = replace(page(entry.url, entry.url_key, price=None), learnt=fields)
        await store.exchange(SLICE, CrawlBatch(done=[taught]), 0)
        with database.writing() as session:
            learn_wrappers(session, crawl.execution, "lamps")
        assert {wrapper.pages for wrapper in known(crawl).values()} == ({1} if is_accepted else {3})


@pytest.mark.parametrize("text", ["nul \x00 here", "half \ud800 of a pair"])
def test_odd_texts_of_pages_can_be_stored(database: Database, project: ProjectModel, text: str) -> None:
    odd = Wrapper("title", examples={text: text}, words=(text,))
    with database.writing() as session:
        save_wrappers(session, project.id, "lamps", {KEYS["title"]: odd})
    assert len(encode(load(database, project)["title"])) <= 2_048

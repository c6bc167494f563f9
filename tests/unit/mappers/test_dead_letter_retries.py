"""Dead letters tried again: what the new execution knows, and what becomes of the letters."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from sqlalchemy import select

from agentic.core.http import url_key
from agentic.core.http.exits.uses import ProxyUse, dump_uses
from agentic.core.pipeline import PipelineResult
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    FrontierModel,
    FrontierState,
    create_execution,
)
from agentic.mappers.catalog.dead_letter_retries import retry_dead_letters, retry_failed_pages
from agentic.mappers.catalog.dead_letters import (
    dead_letter_id,
    find_dead_letter,
    list_dead_letters,
    store_dead_letters,
)
from agentic.mappers.catalog.execution_counts import proxies_so_far
from agentic.mappers.errors import UnknownDeadLetterError
from agentic.mappers.tables.core import CrawlModel, DeadLetterModel

DONE, FAILED, NEW, TAKEN = (
    FrontierState.DONE,
    FrontierState.FAILED,
    FrontierState.NEW,
    FrontierState.TAKEN,
)
LETTERS = ("http://a/2", "http://a/3", "http://a/4")
STATES = {"http://a/1": DONE, **dict.fromkeys(LETTERS, FAILED), "http://a/5": TAKEN, "http://a/6": FAILED}
RESULT = PipelineResult(
    pipeline="shop", item_key="url", items=(), counts={}, failures={}, failed_items=(), retried=(), skipped=()
)


@pytest.fixture
def execution(database: Database, agent: AgentModel) -> ExecutionModel:
    """A crawl that fetched one page of six, and kept three as letters."""
    with database.writing() as session:
        made = create_execution(session, agent)
        session.add(CrawlModel(project_id=agent.project_id, run=made.id, total=6, done=1, failed=4))
        for url, state in STATES.items():
            session.add(
                FrontierModel(
                    project_id=agent.project_id,
                    run=made.id,
                    url_key=url_key(url),
                    url=url,
                    depth=1,
                    state=state,
                    attempts=1,
                    failure_class="timeout" if state is FAILED else None,
                    message="30 s" if state is FAILED else None,
                    is_letter=url in LETTERS,
                )
            )
            session.flush()
        assert store_dead_letters(session, made, RESULT) == 3
    return made


def letters_of(database: Database, agent: AgentModel, execution: ExecutionModel) -> list[DeadLetterModel]:
    with database.reading() as session:
        found = list_dead_letters(session, agent.project_id, execution_id=execution.id)
    return sorted(found, key=lambda letter: str(letter.item))


def keys_of(letters: Iterable[DeadLetterModel], *urls: str) -> list[str]:
    return [letter.item_key for letter in letters if letter.item in urls]


def retried(
    database: Database, agent: AgentModel, execution: ExecutionModel, *urls: str
) -> tuple[ExecutionModel, int]:
    keys = keys_of(letters_of(database, agent, execution), *urls)
    with database.writing() as session:
        return retry_dead_letters(session, execution, agent, keys)


def test_the_new_crawl_knows_all_pages_and_has_the_letters_before_it(
    database: Database, agent: AgentModel, execution: ExecutionModel
) -> None:
    made, count = retried(database, agent, execution, "http://a/3", "http://a/4")
    with database.reading() as session:
        pages = session.scalars(
            select(FrontierModel).where(FrontierModel.run == made.id).order_by(FrontierModel.id)
        ).all()
        crawl = session.get_one(CrawlModel, (agent.project_id, made.id))
        before = session.scalars(select(FrontierModel.state).where(FrontierModel.run == execution.id)).all()
    assert [(page.url[-1], page.state, page.failure_class, page.attempts) for page in pages] == [
        ("3", NEW, None, 0),
        ("4", NEW, None, 0),
        ("1", DONE, None, 1),
        ("2", FAILED, "timeout", 1),
        ("5", NEW, None, 1),
        ("6", FAILED, "timeout", 1),
    ]
    assert {page.depth for page in pages} == {1}
    assert (count, crawl.total, crawl.done, crawl.failed) == (2, 6, 1, 2)
    assert before.count(FAILED) == 4


def test_the_new_crawl_stays_on_the_hosts_that_its_start_pages_led_to_and_counts_from_zero(
    database: Database, agent: AgentModel, execution: ExecutionModel
) -> None:
    with database.writing() as session:
        crawl = session.get_one(CrawlModel, (agent.project_id, execution.id))
        crawl.moves = "http://a/ http://b/"
        crawl.proxies = dump_uses([ProxyUse(id="x", requests=5)])
    with database.writing() as session:
        made, _ = retry_failed_pages(session, execution, agent)
        assert session.get_one(CrawlModel, (agent.project_id, made.id)).moves == "http://a/ http://b/"
        assert proxies_so_far(session, made) == ()  # its own requests, of which there are none yet


def test_letters_belong_to_the_execution_that_tries_them_until_it_ends(
    database: Database, agent: AgentModel, execution: ExecutionModel
) -> None:
    made, _ = retried(database, agent, execution, "http://a/3", "http://a/4")
    assert [letter.item for letter in letters_of(database, agent, execution)] == ["http://a/2"]
    assert [letter.item for letter in letters_of(database, agent, made)] == ["http://a/3", "http://a/4"]


def test_what_was_fetched_is_a_letter_no_more_and_what_failed_says_why_this_time(
    database: Database, agent: AgentModel, execution: ExecutionModel
) -> None:
    made, _ = retried(database, agent, execution, *LETTERS)
    with database.writing() as session:
        pages = select(FrontierModel).where(FrontierModel.run == made.id)
        session.scalars(pages.where(FrontierModel.url == "http://a/2")).one().state = DONE
        again = session.scalars(pages.where(FrontierModel.url == "http://a/3")).one()
        again.state, again.failure_class, again.message, again.is_letter = FAILED, "gone", "410", True
        session.flush()
        store_dead_letters(session, made, RESULT)
    left = letters_of(database, agent, made)
    assert [(letter.item, letter.failure_class) for letter in left] == [
        ("http://a/3", "gone"),
        ("http://a/4", "timeout"),
    ]


def test_letters_are_tried_by_one_execution_only(
    database: Database, agent: AgentModel, execution: ExecutionModel
) -> None:
    keys = keys_of(letters_of(database, agent, execution), *LETTERS)
    counts = []
    for _ in range(2):
        with database.writing() as session:
            counts.append(retry_dead_letters(session, execution, agent, keys)[1])
    assert counts == [3, 0]


def test_a_letter_is_found_by_its_id(
    database: Database, agent: AgentModel, stranger: AgentModel, execution: ExecutionModel
) -> None:
    letter = letters_of(database, agent, execution)[0]
    name = dead_letter_id(letter)
    with database.reading() as session:
        assert find_dead_letter(session, agent.project_id, name) is session.merge(letter, load=False)
        with pytest.raises(UnknownDeadLetterError, match="no dead letter begins with '1-2'"):
            find_dead_letter(session, agent.project_id, "1-2")
        with pytest.raises(UnknownDeadLetterError, match="2 or more dead letters begin with"):
            find_dead_letter(session, agent.project_id, execution.id)
        with pytest.raises(UnknownDeadLetterError):
            find_dead_letter(session, stranger.project_id, name)


def test_all_failed_pages_are_fetched_again_but_those_the_site_wants_left_out(
    database: Database, agent: AgentModel, execution: ExecutionModel
) -> None:
    with database.writing() as session:
        pages = select(FrontierModel).where(FrontierModel.run == execution.id)
        session.scalars(pages.where(FrontierModel.url == "http://a/6")).one().failure_class = "robots_denied"
        crawl = session.get_one(CrawlModel, (agent.project_id, execution.id))
        crawl.excluded, crawl.items, crawl.inserted = 1, 1, 2
    with database.writing() as session:
        made, count = retry_failed_pages(session, execution, agent)
    with database.reading() as session:
        query = select(FrontierModel.url, FrontierModel.state).where(FrontierModel.run == made.id)
        states = {row.url: row.state for row in session.execute(query)}
        crawl = session.get_one(CrawlModel, (agent.project_id, made.id))
    assert count == 3
    assert [url for url, state in states.items() if state is NEW] == [*LETTERS, "http://a/5"]
    assert states["http://a/6"] is FAILED
    assert (crawl.failed, crawl.excluded, crawl.items, crawl.inserted) == (1, 1, 1, 0)
    assert len(letters_of(database, agent, made)) == 3

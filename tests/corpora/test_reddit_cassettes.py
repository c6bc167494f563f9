"""Answers of Reddit that praw and asyncpraw recorded, through our parsing and our mapper into SQLite."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from sqlalchemy import func, select
from tests.corpora.conftest import Open
from tests.corpora.distributions import source_of

from agentic.core.hooks import get_registry
from agentic.core.types import SaveCounts
from agentic.mappers import Database, add_agent, add_project, create_execution, get_result_mapper
from agentic.migrations import upgrade
from agentic.plugins.reddit.models import RedditCommentModel, RedditPostModel, RedditSubredditModel
from agentic.plugins.reddit.reading.items import Listing, More, Thing, things_of
from agentic.plugins.reddit.reading.trees import flat

pytestmark = [pytest.mark.corpus, pytest.mark.timeout(600)]

READ_AT = "2026-11-02T09:00:00+00:00"
COUNTS = {
    "asyncpraw": {"t3": 6_543, "t1": 13_762},
    "praw": {"t3": 23_475, "t1": 18_769},
}
"""Posts and comments in the cassettes of 8.0.3, counted with repeats."""

MODELS = {"posts": RedditPostModel, "comments": RedditCommentModel, "subreddits": RedditSubredditModel}
KINDS = {"posts": "t3", "comments": "t1", "subreddits": "t5"}

_LISTING = TypeAdapter(Listing)
_LISTINGS = TypeAdapter(list[Listing])

Data = dict[str, Any]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path / 'cassettes.db'}"
    upgrade(url, get_registry())
    opened = Database(url)
    yield opened
    opened.dispose()


@pytest.mark.parametrize("name", ["asyncpraw", "praw"])
def test_every_post_and_comment_that_was_recorded_becomes_a_row(
    database: Database, line: Open, name: str
) -> None:
    told = line(f"{name} 8.0.3")
    found: dict[str, list[Data]] = {part: [] for part in MODELS}
    counted: dict[str, list[str]] = {kind: [] for kind in KINDS.values()}
    folder = source_of(name, "8.0.3") / "tests" / "integration" / "cassettes"
    for path in sorted(folder.rglob("*.json")):
        told.files += 1
        for body in bodies(path):
            told.read += 1
            for kind, fullname in walked(body):
                counted[kind].append(fullname)
            for part, data in parsed(body):
                found[part].append(data)
    numbers = {kind: len(names) for kind, names in counted.items()}
    assert {kind: numbers[kind] for kind in ("t3", "t1")} == COUNTS[name]
    assert {KINDS[part]: len(things) for part, things in found.items()} == numbers
    counts, warnings = saved(database, found)
    assert (counts.rejected, warnings) == (0, [])
    for part, model in MODELS.items():
        with database.reading() as session:
            rows = session.scalar(select(func.count()).select_from(model))
        distinct = len(set(counted[KINDS[part]]))
        told.rows += distinct
        told.notes.append(f"{numbers[KINDS[part]]} {part}, {distinct} of them apart")
        assert rows == distinct


def bodies(path: Path) -> Iterator[object]:
    """Yield the answers of a cassette that are JSON."""
    for interaction in json.loads(path.read_bytes())["interactions"]:
        try:
            yield json.loads(interaction["response"]["body"]["string"])
        except ValueError:  # a page, a stream, nothing
            continue


def walked(value: object) -> Iterator[tuple[str, str]]:
    """Yield kind and fullname of each thing, wherever it stands, without a look at what it stands in."""
    if isinstance(value, dict):
        if value.get("kind") in KINDS.values() and isinstance(value.get("data"), dict):
            yield value["kind"], value["data"]["name"]
        for inner in value.values():
            yield from walked(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walked(inner)


def parsed(body: object) -> Iterator[tuple[str, Data]]:
    """Yield the part of a result that each thing of an answer is, and its data, as our reader has them."""
    for thing in things_in(body):
        if thing.kind == "t1":
            read = flat([thing.model_dump()])
            yield from (("comments", one) for one in read if not isinstance(one, More))
        elif thing.kind in ("t3", "t5"):
            yield ("posts" if thing.kind == "t3" else "subreddits"), thing.data


def things_in(body: object) -> list[Thing]:
    """Return the things of an answer of any shape: a listing, a post with its comments, things, or one."""
    match body:
        case [{"kind": "Listing"}, *_]:
            return [one for part in _LISTINGS.validate_python(body) for one in part.things]
        case {"kind": "Listing"}:
            return [*_LISTING.validate_python(body).things]
        case {"sorted_links": links}:  # a collection
            return [*_LISTING.validate_python(links).things]
        case {"json": {"data": {"things": things}}}:
            return [*things_of(things)]
        case {"kind": str(), "data": dict()}:
            return [Thing.model_validate(body)]
        case _:
            return []


def saved(database: Database, found: dict[str, list[Data]]) -> tuple[SaveCounts, list[str]]:
    """Store everything as one result."""
    with database.writing() as session:
        agent = add_agent(session, add_project(session, "tapes"), "tapes", "reddit", {})
    with database.joined() as session:
        execution = create_execution(session, agent)
        session.commit()
        mapper = get_result_mapper("reddit", session, execution.id, agent)
        assert mapper.save_results({**found, "source_mode": "oauth", "read_at": READ_AT})
        session.commit()
    return mapper.counts, mapper.warnings

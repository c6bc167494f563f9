"""This project's rows of mappers: ``python -m tests.bench.mappers mapper-sqlite``.

10,000 rows of a platform's table in one transaction, with a snapshot of each number that moved: all new, then
all as they are, then all changed. SQLite waits for the disk (FULL); PostgreSQL is the one of the tests, which
does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.measuring import Figures, main, scratch

from agentic.core.hooks import get_registry
from agentic.mappers import AgentModel, Database, ResultMapper, add_agent, add_project, create_execution
from agentic.migrations import upgrade
from agentic.plugins.hackernews.mapper import NUMBERS
from agentic.plugins.hackernews.models import HackerNewsItemModel

ROWS = 10_000


class Mapper(ResultMapper):
    """Stores what it is given."""

    def save_results(self, results: Mapping[str, Any]) -> bool:
        """Store rows."""
        self.save_rows(HackerNewsItemModel, results["rows"], counters=NUMBERS)
        return True


@contextmanager
def sqlite() -> Iterator[str]:
    with scratch() as folder:
        yield f"sqlite:///{Path(folder).resolve() / 'data.db'}"


@contextmanager
def postgresql() -> Iterator[str]:
    from tests.postgres import PostgresServer

    server = PostgresServer()
    try:
        server.make()
        server.start()
        yield server.create("bench")
    finally:
        server.remove()


def measure(where: Callable[[], AbstractContextManager[str]]) -> Figures:
    """Return seconds on the clock for 10,000 rows."""
    with where() as url:
        upgrade(url, get_registry())
        database = Database(url)
        with database.writing() as session:
            agent = add_agent(session, add_project(session, "bench"), "bench", "hackernews")
            agent_id = agent.id
        figures = {
            name: _save(database, agent_id, rows)
            for name, rows in (
                ("new_s", _rows("one", score=1)),
                ("unchanged_s", _rows("one", score=1)),
                ("changed_s", _rows("other", score=2)),
            )
        }
        database.dispose()
    return figures


def _rows(word: str, score: int) -> list[dict[str, object]]:
    return [
        {
            "id": number,
            "type": "story",
            "by": f"user{number % 300}",
            "title": f"Story {number} is about {word}",
            "url": f"https://example.org/{number}",
            "text": "a sentence of some words " * 8,
            "score": number % 500 + score,
            "deleted": False,
            "dead": False,
        }
        for number in range(1, ROWS + 1)
    ]


def _save(database: Database, agent_id: str, rows: list[dict[str, object]]) -> float:
    with database.writing() as session:
        agent = session.get_one(AgentModel, agent_id)
        execution_id = create_execution(session, agent).id
    began = time.perf_counter()
    with database.writing() as session:
        mapper = Mapper(session, execution_id, session.get_one(AgentModel, agent_id))
        mapper.save_results({"rows": rows})
    took = time.perf_counter() - began
    assert sum((mapper.counts.inserted, mapper.counts.updated, mapper.counts.unchanged)) == ROWS
    return took


CASES: dict[str, Callable[[], Figures]] = {
    "mapper-sqlite": partial(measure, sqlite),
    "mapper-postgres": partial(measure, postgresql),
}

if __name__ == "__main__":
    main(CASES, dict)

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.types import SaveCounts
from agentic.mappers import (
    AgentModel,
    Base,
    Counters,
    Database,
    MetricSnapshotModel,
    SourceColumns,
    UnknownColumnError,
    add_agent,
    find_project,
    upsert,
)

NUMBERS = {"score": "points", "comments": "replies", "shares": "shares"}


class PostModel(SourceColumns, Base):
    __tablename__ = "snapshot_posts"

    site: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    title: Mapped[str | None]
    points: Mapped[int | None]
    replies: Mapped[int | None]
    shares: Mapped[int | None]


class Posts:
    """The table whose numbers are followed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.counters: dict[str, str] = NUMBERS

    def save(self, agent: AgentModel, *rows: dict[str, object], execution_id: str = "e1") -> SaveCounts:
        owner = {"project_id": agent.project_id, "agent_id": agent.id, "execution_id": execution_id}
        with self._database.writing() as session:
            return upsert(
                session,
                PostModel,
                [{"site": "a", "id": 1, **row, **owner} for row in rows],
                key=["project_id", "site", "id"],
                counters=Counters("test", self.counters),
                warn=lambda _: None,
            )

    def snapshots(self, agent: AgentModel) -> list[MetricSnapshotModel]:
        ours = select(MetricSnapshotModel).where(MetricSnapshotModel.project_id == agent.project_id)
        with self._database.reading() as session:
            return list(session.scalars(ours.order_by(MetricSnapshotModel.observed_at)))

    def numbers(self, agent: AgentModel) -> list[tuple[int | None, int | None, object]]:
        return [(one.score, one.comments, one.others) for one in self.snapshots(agent)]


@pytest.fixture
def posts(database: Database) -> Posts:
    return Posts(database)


def test_each_change_of_a_number_is_kept_with_its_time(posts: Posts, agent: AgentModel) -> None:
    before = datetime.now(UTC)
    posts.save(agent, {"points": 1, "replies": 0, "shares": 2})
    posts.save(agent, {"points": 5, "replies": 0, "shares": 2}, execution_id="e2")
    first, second = posts.snapshots(agent)
    assert posts.numbers(agent) == [(1, 0, {"shares": 2}), (5, 0, {"shares": 2})]
    assert (first.platform, first.table_name, first.natural_key) == ("test", "snapshot_posts", "a 1")
    assert (first.execution_id, second.execution_id) == ("e1", "e2")
    assert before <= first.observed_at < second.observed_at <= datetime.now(UTC)


def test_what_is_seen_again_with_the_same_numbers_is_no_snapshot(posts: Posts, agent: AgentModel) -> None:
    posts.save(agent, {"points": 1, "title": "one"})
    posts.save(agent, {"points": 1, "title": "another"})
    posts.save(agent, {"title": "a third"})  # the source left the number out
    assert posts.numbers(agent) == [(1, None, None)]


def test_a_row_without_any_number_has_no_snapshot_until_it_gets_one(posts: Posts, agent: AgentModel) -> None:
    posts.save(agent, {"title": "one"})
    assert posts.numbers(agent) == []
    posts.save(agent, {"replies": 3})
    assert posts.numbers(agent) == [(None, 3, None)]


def test_several_rows_with_one_key_are_one_snapshot(posts: Posts, agent: AgentModel) -> None:
    posts.save(agent, {"points": 1}, {"points": 2})
    assert posts.numbers(agent) == [(2, None, None)]


def test_a_row_that_is_refused_leaves_no_snapshot_and_the_others_theirs(
    posts: Posts, agent: AgentModel
) -> None:
    too_large: dict[str, object] = {"id": 2, "points": 2**70}
    counts = posts.save(agent, {"points": 1}, too_large, {"id": 3, "points": 3})
    assert counts == SaveCounts(inserted=2, rejected=1)
    keys = {one.natural_key for one in posts.snapshots(agent)}
    assert keys == {"a 1", "a 3"}


def test_projects_have_snapshots_of_their_own(posts: Posts, agent: AgentModel, stranger: AgentModel) -> None:
    posts.save(agent, {"points": 1})
    posts.save(stranger, {"points": 7})
    assert (posts.numbers(agent)[0][0], posts.numbers(stranger)[0][0]) == (1, 7)


def test_agents_of_one_project_continue_each_others_snapshots(
    database: Database, posts: Posts, agent: AgentModel
) -> None:
    with database.writing() as session:
        other = add_agent(session, find_project(session, "ours"), "second", "test")
    posts.save(agent, {"points": 1})
    posts.save(other, {"points": 1})
    posts.save(other, {"points": 2})
    assert [score for score, _, _ in posts.numbers(agent)] == [1, 2]


def test_numbers_that_are_all_named_leave_others_empty(posts: Posts, agent: AgentModel) -> None:
    posts.counters = {"score": "points"}
    posts.save(agent, {"points": 1, "shares": 4})
    assert posts.numbers(agent) == [(1, None, None)]


def test_a_column_that_the_table_has_not_is_refused_by_name(posts: Posts, agent: AgentModel) -> None:
    posts.counters = {"score": "karma"}
    with pytest.raises(UnknownColumnError, match="karma"):
        posts.save(agent, {"points": 1})

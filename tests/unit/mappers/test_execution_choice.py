"""Executions chosen by what they have in common, and removed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from agentic.mappers import (
    AgentModel,
    AgentResultModel,
    Database,
    ExecutionModel,
    ExecutionStatus,
    add_agent,
    create_execution,
    utc_now,
)
from agentic.mappers.audit import DecisionFilter, newest_decisions
from agentic.mappers.catalog.execution_choice import (
    ExecutionFilter,
    ExecutionGoesOnError,
    choose_executions,
    remove_execution,
)
from agentic.mappers.tables.core import CrawlModel, FrontierModel


def make(
    database: Database, agent: AgentModel, status: ExecutionStatus = ExecutionStatus.SUCCEEDED, age_h: int = 0
) -> ExecutionModel:
    with database.writing() as session:
        execution = create_execution(session, agent)
        execution.status, execution.created_at = status, utc_now() - timedelta(hours=age_h)
    return execution


def chosen(
    database: Database, project_id: str, wanted: ExecutionFilter, limit: int | None = None
) -> list[str]:
    with database.reading() as session:
        return [one.id for one in choose_executions(session, project_id, wanted, limit)]


def test_those_of_one_project_are_chosen_the_newest_first(
    database: Database, agent: AgentModel, stranger: AgentModel
) -> None:
    with database.writing() as session:
        other = add_agent(session, agent.project, "other", "another")
    old = make(database, agent, ExecutionStatus.FAILED, age_h=5)
    new = make(database, agent)
    third = make(database, other, ExecutionStatus.QUEUED, age_h=1)
    make(database, stranger)
    everything = ExecutionFilter()
    assert chosen(database, agent.project_id, everything) == [new.id, third.id, old.id]
    assert chosen(database, agent.project_id, everything, 1) == [new.id]
    for wanted, found in (
        (ExecutionFilter(agent_id=agent.id), [new.id, old.id]),
        (ExecutionFilter(platform="another"), [third.id]),
        (ExecutionFilter(statuses=[ExecutionStatus.FAILED, ExecutionStatus.QUEUED]), [third.id, old.id]),
        (ExecutionFilter(since=utc_now() - timedelta(hours=2)), [new.id, third.id]),
        (ExecutionFilter(agent_id=stranger.id), []),
    ):
        assert chosen(database, agent.project_id, wanted) == found


def test_a_removed_execution_takes_its_result_and_its_crawl_along(
    database: Database, agent: AgentModel
) -> None:
    first, second = make(database, agent), make(database, agent)
    with database.writing() as session:
        for one in (first, second):
            own = {"project_id": one.project_id, "run": one.id}
            session.add(CrawlModel(**own, total=1, done=1))
            session.add(FrontierModel(**own, url_key="k", url="http://a.example/", depth=0))
            session.add(
                AgentResultModel(project_id=one.project_id, agent_id=one.agent_id, execution_id=one.id)
            )
    with database.writing() as session:
        remove_execution(session, first, "watcher")
    with database.reading() as session:
        assert session.scalars(select(ExecutionModel.id)).all() == [second.id]
        assert session.scalars(select(AgentResultModel.execution_id)).all() == [second.id]
        assert session.scalars(select(CrawlModel.run)).all() == [second.id]
        assert session.scalars(select(FrontierModel.run)).all() == [second.id]
        (decision,) = newest_decisions(session, agent.project_id, DecisionFilter(), 1)
    assert (decision.kind, decision.subject) == ("execution.removed", first.id)


def test_one_that_goes_on_by_now_is_not_removed(database: Database, agent: AgentModel) -> None:
    read = make(database, agent, ExecutionStatus.FAILED)
    with database.writing() as session:
        session.get_one(ExecutionModel, read.id).status = ExecutionStatus.RUNNING
    with (
        database.writing() as session,
        pytest.raises(ExecutionGoesOnError, match="agentic executions cancel"),
    ):
        remove_execution(session, read, "watcher")


@pytest.mark.parametrize(
    "statuses", [(), (ExecutionStatus.SUCCEEDED,), (ExecutionStatus.SUCCEEDED, ExecutionStatus.FAILED)]
)
@pytest.mark.parametrize("platform", [None, "another"])
def test_pages_give_each_execution_once_the_newest_first(
    database: Database, agent: AgentModel, statuses: tuple[ExecutionStatus, ...], platform: str | None
) -> None:
    with database.writing() as session:
        others = [add_agent(session, agent.project, name, "another") for name in ("one", "two")]
    ended = (ExecutionStatus.SUCCEEDED, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED)
    for number in range(9):
        make(database, [agent, *others][number % 3], ended[number % 2], age_h=number)
    wanted = ExecutionFilter(statuses=statuses, platform=platform)
    whole = chosen(database, agent.project_id, wanted)
    paged: list[ExecutionModel] = []
    with database.reading() as session:
        while page := choose_executions(
            session, agent.project_id, wanted, 2, after=paged[-1] if paged else None
        ):
            paged += page
    assert [one.id for one in paged] == whole
    assert len(whole) >= 3

"""Decisions as rows: written with the change they are about, kept as they are."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import delete, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from agentic.core.audit import Decision, DecisionKind, decided
from agentic.core.pipeline import PipelineSpec
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    ProjectModel,
    add_agent,
    add_schedule,
    create_execution,
    pause_schedule,
    resume_schedule,
)
from agentic.mappers.audit import (
    AUDIT,
    DecisionFilter,
    SqlAudit,
    add_decisions,
    audit,
    newest_decisions,
)
from agentic.mappers.catalog.dead_letter_retries import retry_dead_letters
from agentic.mappers.catalog.dead_letters import drop_dead_letters
from agentic.mappers.catalog.pipelines import store_pipeline
from agentic.mappers.catalog.projects import change_agent, limit_project, remove_agent
from agentic.mappers.catalog.schedule_firing import HoldReason, fire_schedule, give_up_due_times
from agentic.mappers.catalog.schedules import remove_schedule
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.rotation import rotate
from agentic.mappers.vault.vault import remove_secret, set_secret

pytestmark = [pytest.mark.requirement("NA21"), pytest.mark.requirement("LG15")]

HOUR = timedelta(hours=1)
KEYS = SecretKeys(SecretKeys.new_key())
SECRET = "geheim-4711"


@pytest.fixture(autouse=True)
def user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_USER", "anna")


def decisions(database: Database, project_id: str) -> list[Decision]:
    with database.reading() as session:
        return newest_decisions(session, project_id, DecisionFilter(), 100)[::-1]


def newest(database: Database, project_id: str) -> tuple[str, str, str, str, str]:
    """Return kind, subject, who, what and why of the newest decision."""
    found = decisions(database, project_id)[-1]
    return (found.kind, found.subject, found.who, found.what, found.reason)


def in_short(database: Database, project_id: str) -> list[tuple[str, str, str]]:
    return [(one.kind, one.subject, one.who) for one in decisions(database, project_id)]


def test_a_project_is_created_and_limited_by_somebody(database: Database, project: ProjectModel) -> None:
    with database.writing() as session:
        limit_project(session, session.get_one(ProjectModel, project.id), 4)
    created, limited = decisions(database, project.id)
    assert (created.kind, created.who, created.what) == ("project.created", "anna", "project ours is added")
    assert (limited.kind, limited.what) == ("project.changed", "at most 4 activations at a time")
    assert limited.details == {"max_running": [None, 4]}


def test_an_agent_is_created_changed_and_removed_and_no_value_is_told(
    database: Database, agent: AgentModel
) -> None:
    with database.writing() as session:
        found = session.get_one(AgentModel, agent.id)
        change_agent(session, found, platform="test", config={"token": SECRET}, goals="more")
        change_agent(session, found, platform="test", config={"token": SECRET}, goals="more")
        remove_agent(session, found)
    assert in_short(database, agent.project_id)[1:] == [
        ("agent.created", "watcher", "anna"),
        ("agent.changed", "watcher", "anna"),
        ("agent.removed", "watcher", "anna"),
    ]
    assert decisions(database, agent.project_id)[2].details == {"changed": ["config.token", "goals"]}
    assert not holds_secret(database)


def test_a_pipeline_that_is_stored_anew_is_a_decision_and_one_that_is_as_it_was_is_none(
    database: Database, project: ProjectModel
) -> None:
    spec = PipelineSpec.model_validate(
        {"name": "shop", "steps": [{"actor": "http_fetch", "config": {"url": "http://x/"}}]}
    )
    for _ in range(2):
        with database.writing() as session:
            store_pipeline(session, project.id, spec)
    assert in_short(database, project.id)[1:] == [("pipeline.stored", "shop", "anna")]


def test_a_schedule_tells_who_made_it_paused_it_and_removed_it(
    database: Database, project: ProjectModel, agent: AgentModel
) -> None:
    with database.writing() as session:
        schedule = add_schedule(session, agent, "hourly", every_s=3600)
        pause_schedule(session, schedule)
        pause_schedule(session, schedule)
        resume_schedule(session, schedule)
        remove_schedule(session, project, "hourly")
        remove_schedule(session, project, "hourly")
    assert in_short(database, project.id)[2:] == [
        (f"schedule.{change}", "hourly", "anna") for change in ("created", "paused", "resumed", "removed")
    ]


def test_a_firing_is_told_once_with_the_schedule_as_its_author(database: Database, agent: AgentModel) -> None:
    with database.writing() as session:
        schedule = add_schedule(session, agent, "hourly", every_s=3600)
    due = schedule.anchor + HOUR
    made: list[ExecutionModel | HoldReason | None] = []
    for _ in range(2):
        with database.writing() as session:
            made.append(fire_schedule(session, schedule, due))
    assert made[1] is None
    assert newest(database, agent.project_id) == (
        "schedule.fired",
        "hourly",
        "schedule:hourly",
        "schedule hourly runs agent watcher",
        f"it was due at {due.isoformat()}",
    )
    assert [one.kind for one in decisions(database, agent.project_id)].count(DecisionKind.SCHEDULE_FIRED) == 1


def test_due_times_that_are_given_up_are_told_with_the_policy_that_says_so(
    database: Database, agent: AgentModel
) -> None:
    with database.writing() as session:
        schedule = add_schedule(session, agent, "hourly", every_s=3600)
    due = schedule.anchor + 3 * HOUR
    with database.writing() as session:
        assert give_up_due_times(session, schedule, due)
    kind, _, who, what, why = newest(database, agent.project_id)
    assert (kind, who) == ("schedule.skipped", "schedule:hourly")
    assert what == f"schedule hourly does not run agent watcher for due times up to {due.isoformat()}"
    assert why == "they were missed, and the schedule catches up last"


def test_secrets_are_told_by_name_alone(database: Database, project: ProjectModel) -> None:
    with database.writing() as session:
        set_secret(session, project.id, KEYS, "shop", SECRET)
        set_secret(session, project.id, KEYS, "shop", f"{SECRET}!")
    rotate(database, KEYS)
    with database.writing() as session:
        remove_secret(session, project.id, "shop")
    assert in_short(database, project.id)[1:] == [
        ("secret.created", "shop", "anna"),
        ("secret.changed", "shop", "anna"),
        ("secrets.rotated", "secrets", "anna"),
        ("secret.removed", "shop", "anna"),
    ]
    assert not holds_secret(database)


def test_letters_that_are_tried_again_or_dropped_are_told(database: Database, agent: AgentModel) -> None:
    with database.writing() as session:
        execution = create_execution(session, agent)
        retry_dead_letters(session, execution, agent, ["key"])
        drop_dead_letters(session, agent.project_id, execution.id)
    kinds = in_short(database, agent.project_id)[2:]
    assert kinds == [
        ("letters.retried", execution.id, "anna"),
        ("letters.dropped", execution.id, "anna"),
    ]


def test_a_change_that_is_rolled_back_leaves_no_decision(database: Database, project: ProjectModel) -> None:
    before = decisions(database, project.id)

    def change_in_vain(session: Session) -> None:
        add_agent(session, project, "watcher", "test")
        set_secret(session, project.id, KEYS, "shop", SECRET)
        raise InterruptedError

    with pytest.raises(InterruptedError), database.writing() as session:
        change_in_vain(session)
    assert decisions(database, project.id) == before


@pytest.mark.parametrize(
    "change", [update(AUDIT).values(who="nobody"), update(AUDIT).values(reason="another"), delete(AUDIT)]
)
def test_the_database_refuses_to_change_or_remove_a_decision(
    database: Database, project: ProjectModel, change: object
) -> None:
    before = decisions(database, project.id)
    with pytest.raises(DBAPIError, match="never changed or removed"), database.writing() as session:
        session.execute(change)  # type: ignore[call-overload]  # one of three statements
    assert decisions(database, project.id) == before


def test_decisions_outlive_their_project(database: Database, project: ProjectModel) -> None:
    before = decisions(database, project.id)
    with database.writing() as session:
        session.delete(session.get_one(ProjectModel, project.id))
    assert decisions(database, project.id) == before


def test_a_project_sees_its_own_decisions_only_and_as_many_as_wanted(
    database: Database, agent: AgentModel, stranger: AgentModel
) -> None:
    def found(project_id: str, limit: int = 100, **wanted: object) -> list[str]:
        which = DecisionFilter(**wanted)  # type: ignore[arg-type]  # as each case below names them
        with database.reading() as session:
            return [str(one.kind) for one in newest_decisions(session, project_id, which, limit)]

    with database.writing() as session:
        for subject in ("one", "one/work.0.0", "one-more"):
            audit(session, agent.project_id, DecisionKind.RUN_PAUSED, subject, "rests", who="bob")
    assert found(stranger.project_id) == ["agent.created", "project.created"]
    assert found(agent.project_id, 4) == ["run.paused"] * 3 + ["agent.created"]
    assert found(agent.project_id, run_id="one") == ["run.paused"] * 2
    assert found(agent.project_id, who="bob") == ["run.paused"] * 3
    assert found(agent.project_id, kinds=[DecisionKind.AGENT_CREATED]) == ["agent.created"]
    assert found(agent.project_id, since=9e9) == []


async def test_what_rules_decide_is_written_down_at_once(database: Database, project: ProjectModel) -> None:
    made = decided(DecisionKind.FALLBACK_CHOSEN, "one", "is tried with ask instead", who="engine")
    await SqlAudit(database, project.id).decide(made)
    assert decisions(database, project.id)[-1] == made


def test_text_that_no_database_takes_is_made_fit(database: Database, project: ProjectModel) -> None:
    odd = decided(DecisionKind.RUN_FAILED, "a\0b", "\ud800 ends", reason="\0", who="anna", of="\0\ud800")
    with database.writing() as session:
        add_decisions(session.connection(), project.id, [odd, odd])
    found = decisions(database, project.id)[-1]
    assert (found.subject, found.what, found.details) == ("ab", "? ends", {"of": "\0\ud800"})


def holds_secret(database: Database) -> bool:
    with database.reading() as session:
        rows = session.execute(select(text("*")).select_from(AUDIT)).all()
    return any(SECRET in str(row) for row in rows)

"""What the end of an execution adds to the outbox, on both databases."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.integration.executors.notifications.conftest import World

from agentic.core.masking import remember_secrets
from agentic.core.types import JSONValue
from agentic.executors.agents.ending import ExecutionEnd, record_execution_end
from agentic.executors.notifications.targets import read_target
from agentic.mappers import ExecutionStatus, StoredResults, add_agent, queue_execution, save_outcome
from agentic.mappers.notifications.rules import RuleFacts, put_rule
from agentic.mappers.tables.core import DeadLetterModel
from agentic.mappers.tables.notifications import Channel, NotificationModel

pytestmark = [pytest.mark.integration]

S = ExecutionStatus


def add_rule(world: World, name: str, events: str, agent_id: str | None = None) -> None:
    target = read_target(Channel.EMAIL, "ops@example.org")
    facts: RuleFacts = {
        "agent_id": agent_id, "events": events, "row_filter": None, "table_name": None,
        "channel": target.channel, "target": target.address, "credential": target.credential,
        "digest_s": 0, "max_per_hour": 20, "may_be_private": False,
    }  # fmt: skip
    with world.database.writing() as session:
        put_rule(session, world.project, name, facts)


def end(world: World, status: ExecutionStatus = S.SUCCEEDED, rows: int = 0, error: str | None = None) -> str:
    """Let an execution end that has read so many rows."""
    execution = world.execution()
    counts: dict[str, JSONValue] = {"inserted": rows // 2, "unchanged": rows - rows // 2, "rejected": 1_000}
    with world.database.writing() as session:
        queue_execution(session, world.project.id, execution.id)
        save_outcome(session, world.project.id, execution.id, StoredResults(counts=counts, outcome=status))
        if status is S.PARTIAL:
            session.add(
                DeadLetterModel(
                    project_id=world.project.id, execution_id=execution.id, step="all.fetch", item_key="k",
                    pipeline="p", item=None, failure_class="timeout", message="too slow", tries=[],
                )
            )  # fmt: skip
        run = S.SUCCEEDED if status is S.PARTIAL else status
        record_execution_end(session, world.project.id, execution.id, ExecutionEnd(status=run, error=error))()
    return execution.id


def events(rows: Sequence[NotificationModel]) -> list[tuple[str, object]]:
    return [(str(row.event), row.facts.get("row_count")) for row in rows]


def test_a_fall_is_found_against_the_last_executions_with_results(world: World) -> None:
    add_rule(world, "fall", "fewer")
    for rows in (100, 10, 100, 100, 100):  # the second one has fallen itself
        end(world, rows=rows)
    end(world, S.FAILED, rows=0, error="the site is away")
    end(world, S.PARTIAL, rows=51)
    end(world, rows=50)
    assert events(world.rows()) == [("fewer", 10), ("fewer", 50)]
    facts = world.rows()[1].facts
    assert (facts["usual_count"], facts["compared"]) == (100, 5)


def test_the_first_execution_of_an_agent_has_not_fallen(world: World) -> None:
    add_rule(world, "fall", "fewer")
    end(world, rows=0)
    assert world.rows() == []


def test_another_agent_is_not_compared_and_its_rules_do_not_count(world: World) -> None:
    with world.database.writing() as session:
        other = add_agent(session, world.project, "other", "web")
    add_rule(world, "theirs", "failed fewer", other.id)
    add_rule(world, "ours", "failed", world.agent.id)
    end(world, S.FAILED, error="no")
    [row] = world.rows()
    assert (row.event, row.facts["reason"], row.facts["agent"]) == ("failed", "no", "watcher")


def test_a_partial_execution_names_its_first_failure(world: World) -> None:
    add_rule(world, "ops", "partial")
    end(world, S.PARTIAL, rows=3)
    [row] = world.rows()
    assert row.facts["first_failure"] == {
        "where": "all.fetch",
        "failure_class": "timeout",
        "message": "too slow",
    }


def test_secrets_do_not_enter_the_outbox(world: World) -> None:
    remember_secrets("s3cret-of-a-run")
    add_rule(world, "ops", "failed")
    end(world, S.FAILED, error="refused with s3cret-of-a-run")
    [row] = world.rows()
    assert "s3cret" not in str(row.facts)
    assert str(row.facts["reason"]).startswith("refused with ")


def test_an_end_that_is_recorded_twice_is_one_event(world: World) -> None:
    add_rule(world, "ops", "failed")
    execution_id = end(world, S.FAILED, error="first")
    with world.database.writing() as session:
        ending = ExecutionEnd(status=S.FAILED, error="again")
        record_execution_end(session, world.project.id, execution_id, ending)()
    assert [row.facts["reason"] for row in world.rows()] == ["first"]

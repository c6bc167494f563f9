"""The contract for the ends of a platform's runs."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress

import pytest
from sqlalchemy import func, select

from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue
from agentic.executors.agents.factory import ExecutorFactory, executor_class
from agentic.executors.agents.redaction import Redactor
from agentic.executors.testing import cut_off
from agentic.executors.testing.running import Queued, Ran, RunAgent
from agentic.executors.testing.watching import Watch
from agentic.mappers import AgentResultModel, Database, ExecutionStatus, clean
from agentic.mappers.tables.core import AgentModel

Config = Mapping[str, JSONValue]
End = Callable[[RunAgent, Watch, Queued], Ran]

UNKNOWN = {"a_setting_that_nobody_knows": 1}


class EndingsContract:
    """The part of :class:`PlatformContract` about the results of a run, however it ends."""

    platform: str
    model: type[object]
    row_count: int

    @pytest.fixture
    def watch(self, monkeypatch: pytest.MonkeyPatch) -> Watch:
        """Watch the runs of the platform's agents."""
        return Watch(executor_class(self.platform), monkeypatch)

    def test_nothing_is_begun_for_an_agent_that_is_not_configured_rightly(
        self, config: Config, run_agent: RunAgent, watch: Watch
    ) -> None:
        ran = run_agent(self.platform, {**config, **UNKNOWN})

        assert ran.outcome.status is ExecutionStatus.FAILED
        assert "a_setting_that_nobody_knows" in str(ran.outcome.error)
        assert watch.begun_count == 0
        assert self._left(ran) == (0, 0)

    def test_what_it_starts_from_is_json_without_a_secret(
        self, config: Config, run_agent: RunAgent, agentic_database: Database
    ) -> None:
        queued = run_agent.queue(self.platform, config)
        with agentic_database.reading() as session:
            agent = session.get_one(AgentModel, queued.agent_id)
            executor = ExecutorFactory.create(agent, execution_id=queued.execution_id, session=session)
            text = json.dumps(executor.create_initial_state(), allow_nan=False)
            settings = get_registry().platform(self.platform).settings
            known = Redactor() if settings is None else Redactor.of(executor.read_config(settings))
        assert not [secret for secret in known.secrets if secret in text]

    def test_its_results_are_json(self, config: Config, run_agent: RunAgent, watch: Watch) -> None:
        run_agent(self.platform, config)

        (results,) = watch.results
        assert clean(results)[1] == []

    @pytest.mark.parametrize("end", ["succeeds", "fails", "gives_an_error", "is_cancelled"])
    def test_what_it_opens_is_closed_when_it(
        self, config: Config, run_agent: RunAgent, watch: Watch, end: str
    ) -> None:
        with warnings.catch_warnings(record=True) as left_open:
            warnings.simplefilter("always", ResourceWarning)
            self._ended(end, run_agent, watch, run_agent.queue(self.platform, config))
            gc.collect()

        assert watch.ended_count == watch.begun_count
        assert [str(found.message) for found in left_open if found.category is ResourceWarning] == []

    @pytest.mark.parametrize("end", ["fails", "gives_an_error", "is_cancelled"])
    def test_no_row_is_left_when_it(
        self, config: Config, run_agent: RunAgent, watch: Watch, end: str
    ) -> None:
        ran = self._ended(end, run_agent, watch, run_agent.queue(self.platform, config))

        wanted = ExecutionStatus.CANCELLED if end == "is_cancelled" else ExecutionStatus.FAILED
        assert ran.outcome.status is wanted
        assert self._left(ran) == (0, 0)

    def test_runs_that_are_killed_while_they_save_go_on_and_double_nothing(
        self, config: Config, run_agent: RunAgent, agentic_database: Database
    ) -> None:
        """One is killed before it saves, another one after that but before the commit."""
        queued = [run_agent.queue(self.platform, config) for _ in cut_off.MOMENTS]
        command = [sys.executable, "-m", cut_off.__name__, agentic_database.url]
        words = [word for one in queued for word in (one.execution_id, one.agent_id)]
        gone = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
        assert gone.returncode == 0, gone.stderr
        assert self._left(run_agent.look(queued[0])) == (0, 0)
        time.sleep(cut_off.LEASE_S)  # they keep their claims until then

        for result_count, one in enumerate(queued, start=1):
            ran = run_agent.run(one)

            assert (ran.outcome.status, ran.outcome.error) == (ExecutionStatus.SUCCEEDED, None)
            assert self._left(ran) == (self.row_count, result_count)

    def _ended(self, end: str, run_agent: RunAgent, watch: Watch, queued: Queued) -> Ran:
        """Run an execution to that kind of end."""
        watch.fails_to_save = end == "fails"
        watch.gives_an_error = end == "gives_an_error"
        if end != "is_cancelled":
            return run_agent.run(queued)
        with suppress(asyncio.CancelledError):
            asyncio.run(_cancelled(run_agent, watch, queued))
        return run_agent.look(queued)

    def _left(self, ran: Ran) -> tuple[int, int]:
        """Return the numbers of rows and short results of a project."""
        query = select(AgentResultModel).where(AgentResultModel.project_id == ran.project_id)
        with ran.database.reading() as session:
            results = session.scalar(select(func.count()).select_from(query.subquery()))
        return len(ran.rows(self.model)), results or 0


async def _cancelled(run_agent: RunAgent, watch: Watch, queued: Queued) -> None:
    run = asyncio.ensure_future(run_agent.arun(queued))
    watch.on_worked = run.cancel
    await run

"""Runs one execution from its claim to its end."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import asdict, dataclass, field

from structlog.contextvars import bound_contextvars

from agentic.core.bus import EventPublisher
from agentic.core.errors import AgenticError
from agentic.core.graph import EventKind, RunStream
from agentic.core.hooks import get_registry
from agentic.core.logging import get_logger
from agentic.core.types import SaveCounts
from agentic.executors.base import BaseAgentExecutor
from agentic.executors.errors import AgentConfigError
from agentic.executors.factory import ExecutorFactory
from agentic.executors.heartbeat import Heartbeat
from agentic.executors.host import EventListener, ExecutionOutcome, Host
from agentic.executors.records import ExecutionRecords
from agentic.executors.redaction import Redactor
from agentic.executors.threads import in_thread
from agentic.executors.workflow import agent_workflow
from agentic.mappers import (
    ExecutionLostError,
    ExecutionStateError,
    ExecutionStatus,
    UnknownExecutionError,
)

log = get_logger(__name__)

__all__ = ["EventListener", "ExecutionOutcome", "Host", "run_execution"]


async def run_execution(
    execution_id: str, agent_id: str, *, host: Host, on_event: EventListener | None = None
) -> ExecutionOutcome:
    """Claim an execution, run its agent as a graph, and record the end.

    Safe to call twice with the same ids, also at the same time: one call runs it, the other is refused.
    A failure of the agent is an outcome, not an exception. A bus that is down does not matter to the run.

    Cancelled without a reason, the execution ends as cancelled; with one (the message of the
    ``CancelledError``: a time limit, a stopped worker), as failed, so that it can be run again.

    Args:
        execution_id: The execution.
        agent_id: The agent it must belong to.
        host: What this process lends.
        on_event: Told every event of the run, on the event loop.

    Raises:
        UnknownExecutionError: The agent has no such execution.
        DatabaseUnavailableError: The database is gone; the execution shows as running without a heartbeat.
    """
    records = await in_thread(ExecutionRecords.claim, host.database, execution_id, agent_id, host.worker)
    if records is None:
        log.warning("execution.refused", execution_id=execution_id, agent_id=agent_id)
        return ExecutionOutcome(execution_id=execution_id)
    with bound_contextvars(
        execution_id=execution_id,
        agent_id=agent_id,
        platform=records.agent.agent_platform,
        run_id=records.run_id,
    ):
        async with Heartbeat(records.touch, host.heartbeat_s):
            return await _Run(records, host, on_event).run()


@dataclass(slots=True)
class _Run:
    """A claimed execution while it runs."""

    records: ExecutionRecords
    host: Host
    on_event: EventListener | None
    redactor: Redactor = field(default_factory=Redactor)
    executor: BaseAgentExecutor | None = None
    own_supersteps: int = 0

    @property
    def superstep_count(self) -> int:
        """Supersteps so far, with those of the graphs the agent ran."""
        return self.own_supersteps + (self.executor.child_supersteps if self.executor else 0)

    async def run(self) -> ExecutionOutcome:
        """Run it and record how it ended."""
        log.info("execution.started", attempt=self.records.attempt)
        started = time.monotonic()
        try:
            await self._work()
        except asyncio.CancelledError as exc:
            await self._stopped(str(exc.args[0]) if exc.args else None)
            raise
        except Exception as exc:
            return await self._failed(exc)
        await in_thread(self.records.recount)
        outcome = self._outcome(ExecutionStatus.SUCCEEDED)
        log.info(
            "execution.completed",
            **asdict(outcome.counts),
            superstep_count=outcome.superstep_count,
            event_count=outcome.event_count,
            duration_s=round(time.monotonic() - started, 3),
        )
        return outcome

    async def _work(self) -> None:
        self.executor = executor = ExecutorFactory.create(
            self.records.agent, execution_id=self.records.execution_id
        )
        self.redactor = _redactor_for(executor)
        workflow = agent_workflow(executor, self.records, self.redactor)
        publisher = EventPublisher(self.host.bus, self.records.agent.project.name)
        try:
            stream = workflow.run_stream(self.records.execution_id, run_id=self.records.run_id)
            await self._follow(stream, publisher)
        finally:
            await publisher.close(self.host.publish_grace_s)
            await _clean_up(executor)

    async def _follow(self, stream: RunStream, publisher: EventPublisher) -> None:
        """Pass the events of the run on until its end; raise what failed it."""
        try:
            await self._relay(stream, publisher)
        except asyncio.CancelledError:
            await stream.aclose()
            await self._relay(stream, publisher)  # how the run ended is part of its story
            raise
        await stream.result()

    async def _relay(self, stream: RunStream, publisher: EventPublisher) -> None:
        async for event in stream:
            clean = self.redactor.event(event)
            self.records.event_count += 1
            if event.kind is EventKind.SUPERSTEP_COMPLETED and not event.path:
                self.own_supersteps += 1
            await publisher.publish(clean)
            if self.on_event is not None:
                self.on_event(clean)

    async def _failed(self, exc: Exception) -> ExecutionOutcome:
        error = self.redactor.error(exc)
        is_expected = isinstance(exc.__cause__ or exc, AgenticError)
        log.log(
            self._loud(logging.ERROR),
            "execution.failed",
            error=error,
            **({} if is_expected else {"exception": self.redactor.traceback(exc)}),
        )
        is_ours = await self._give_up(ExecutionStatus.FAILED, error)
        return self._outcome(ExecutionStatus.FAILED if is_ours else None, error)

    async def _stopped(self, reason: str | None) -> None:
        log.log(self._loud(logging.WARNING), "execution.cancelled", reason=reason)
        if reason is None:
            await self._give_up(ExecutionStatus.CANCELLED, "cancelled")
        else:
            await self._give_up(ExecutionStatus.FAILED, f"stopped: {reason}")

    def _loud(self, level: int) -> int:
        return logging.INFO if self.host.shows_errors else level

    async def _give_up(self, status: ExecutionStatus, error: str) -> bool:
        """Record a bad end; False when it is not ours to record."""
        try:
            await in_thread(self.records.give_up, status, error, self.superstep_count)
        except (ExecutionLostError, ExecutionStateError, UnknownExecutionError) as exc:
            log.warning("execution.lost", reason=str(exc))
            return False
        return True

    def _outcome(self, status: ExecutionStatus | None, error: str | None = None) -> ExecutionOutcome:
        saved = self.executor if status is ExecutionStatus.SUCCEEDED else None
        return ExecutionOutcome(
            execution_id=self.records.execution_id,
            status=status,
            run_id=self.records.run_id,
            counts=saved.counts if saved else SaveCounts(),
            superstep_count=self.superstep_count,
            event_count=self.records.event_count,
            error=error,
            warnings=tuple(self.executor.warnings) if self.executor else (),
        )


def _redactor_for(executor: BaseAgentExecutor) -> Redactor:
    """Know the secrets of the agent's config. One that does not validate fails the run at its start."""
    model = get_registry().platform(executor.agent.agent_platform).settings
    if model is None:
        return Redactor()
    try:
        return Redactor.of(executor.read_config(model))
    except AgentConfigError:
        return Redactor()


async def _clean_up(executor: BaseAgentExecutor) -> None:
    try:
        await executor.cleanup()
    except Exception as exc:
        log.warning("cleanup.failed", error=f"{type(exc).__name__}: {exc}")

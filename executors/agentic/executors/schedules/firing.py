"""Fires due schedules: first an execution in the database, then a message to the workers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from agentic.core.logging import get_logger
from agentic.executors.errors import BrokerUnavailableError
from agentic.executors.schedules.cron import ScheduleTimesError
from agentic.executors.schedules.times import Calendar, FiringPlan, plan
from agentic.executors.workers.dispatch import CeleryDispatcher
from agentic.mappers import Database, ExecutionModel, ScheduleModel
from agentic.mappers.catalog.schedule_firing import (
    HoldReason,
    execution_at_work,
    fire_schedule,
    fire_waiting,
    give_up_due_times,
)
from agentic.mappers.catalog.schedules import active_schedules, store_now

log = get_logger(__name__)

_HELD = {HoldReason.WAITING: "schedule.queued", HoldReason.SKIPPED: "schedule.skipped"}

QueuedFiring = tuple[ExecutionModel, ScheduleModel]


class Timekeeper:
    """Fires the schedules of every project; any number may run at once.

    The clock of the database decides which times are due. Each due time is one transaction, which adds the
    execution and advances the schedule; nothing is kept in memory, so it may be killed at any moment.
    """

    def __init__(self, database: Database, dispatcher: CeleryDispatcher) -> None:
        self._database = database
        self._dispatcher = dispatcher
        self._faults: dict[str, str] = {}

    def tick(self) -> timedelta | None:
        """Fire due schedules now; return the time until the next, None if there is none.

        Raises:
            DatabaseUnavailableError: The database cannot be opened; earlier firings remain.
        """
        with self._database.reading() as session:
            now = store_now(session)
            schedules = active_schedules(session)
            freed = [one for one in schedules if _is_freed(session, one)]
        queued: list[QueuedFiring] = []
        waits: list[timedelta] = []
        try:
            for schedule in freed:
                self._fire_waiting(schedule, queued)
            for schedule in schedules:
                planned = self._planned(schedule, now)
                self._fire(schedule, planned, queued, now)
                if planned.next_at is not None:
                    waits.append(planned.next_at - now)
        finally:
            self._dispatch(queued)
        return min(waits, default=None)

    def _planned(self, schedule: ScheduleModel, now: datetime) -> FiringPlan:
        """One unusable schedule must not stop the others; it is reported once."""
        try:
            planned = plan(Calendar.of(schedule), schedule.catch_up, schedule.settled_until, now)
        except ScheduleTimesError as exc:
            if self._faults.get(schedule.id) != str(exc):
                self._faults[schedule.id] = str(exc)
                log.warning("schedule.refused", **_named(schedule), reason=str(exc))
            return FiringPlan()
        self._faults.pop(schedule.id, None)
        return planned

    def _fire(
        self, schedule: ScheduleModel, planned: FiringPlan, queued: list[QueuedFiring], now: datetime
    ) -> None:
        for due in planned.due:
            with self._database.writing() as session:
                fired = fire_schedule(session, schedule, due)
            if fired is None:  # another beat handles it now
                return
            schedule.settled_until = due
            if isinstance(fired, HoldReason):
                log.info(_HELD[fired], **_named(schedule), due_at=due.isoformat(), overlap=schedule.overlap)
                continue
            queued.append((fired, schedule))
            facts = {"due_at": due.isoformat(), "late_s": round((now - due).total_seconds(), 1)}
            log.info("schedule.fired", **_named(schedule), **facts, execution_id=fired.id)
        if planned.missed is not None:
            with self._database.writing() as session:
                given_up = give_up_due_times(session, schedule, planned.missed)
            if given_up:
                log.warning("schedule.missed", **_named(schedule), due_at=planned.missed.isoformat())

    def _fire_waiting(self, schedule: ScheduleModel, queued: list[QueuedFiring]) -> None:
        with self._database.writing() as session:
            execution = fire_waiting(session, schedule)
        if execution is not None:
            queued.append((execution, schedule))
            log.info("schedule.fired", **_named(schedule), waited=True, execution_id=execution.id)

    def _dispatch(self, queued: Sequence[QueuedFiring]) -> None:
        """Send the messages. Without a broker the executions stay queued: a reconciler sends them again."""
        for number, (execution, schedule) in enumerate(queued):
            try:
                self._dispatcher.dispatch(execution, schedule.agent)
            except BrokerUnavailableError as exc:
                waiting = [left.id for left, _ in queued[number:]]
                log.warning("dispatch.failed", execution_ids=waiting, reason=str(exc))
                return


def _is_freed(session: Session, schedule: ScheduleModel) -> bool:
    return schedule.waiting_due_at is not None and execution_at_work(session, schedule) is None


def _named(schedule: ScheduleModel) -> dict[str, str]:
    return {"schedule": schedule.name, "project": schedule.agent.project.name}

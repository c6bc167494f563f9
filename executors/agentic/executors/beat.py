"""Beat with schedules from the database: ``agentic beat``, or ``celery -A agentic.executors beat``."""

from __future__ import annotations

import logging
from functools import cached_property

from celery.beat import Scheduler
from sqlalchemy.exc import SQLAlchemyError

from agentic.core.errors import AgenticError
from agentic.core.hooks import get_registry
from agentic.core.logging import configure_logging, get_logger
from agentic.core.settings import load_settings
from agentic.executors.agents.redaction import Redactor
from agentic.executors.schedules.firing import Timekeeper
from agentic.executors.workers.dispatch import CeleryDispatcher
from agentic.mappers import Database
from agentic.migrations import require_current

log = get_logger(__name__)


class LedgerScheduler(Scheduler):
    """Fires the schedules of the database, and the entries of ``beat_schedule``.

    It reads the database at least every ``max_interval`` seconds, so that changes apply without a
    restart. Several schedulers, on any machines, fire a due time once. It waits for an unavailable database.

    Entries of ``beat_schedule`` fire as in Celery; their last firing is not kept over a restart.
    """

    max_interval = 2
    _is_checked = False
    _is_lost = False

    @cached_property
    def _database(self) -> Database:
        return Database.configured(load_settings())

    @cached_property
    def _timekeeper(self) -> Timekeeper:
        return Timekeeper(self._database, CeleryDispatcher(self.app))

    @property
    def info(self) -> str:
        """Its line in the banner of beat."""
        return f"    . database -> {self._database.url}"

    def setup_schedule(self) -> None:
        """Set up structlog like beat's own log, and read ``beat_schedule``."""
        level = logging.getLevelName(logging.getLogger().getEffectiveLevel())
        configure_logging(level, load_settings().log_format)
        super().setup_schedule()

    def tick(self, *_: object, **__: object) -> float:
        """Fire due schedules; return the seconds until the next look."""
        return min(super().tick(), self._look())

    def close(self) -> None:
        """Close the database too."""
        super().close()
        self._database.dispose()

    def _look(self) -> float:
        longest = float(self.max_interval or 0)
        try:
            self._require_tables()
            wait = self._timekeeper.tick()
        except Exception as exc:  # beat continues after any error of the database
            self._tell_lost(exc)
            return longest
        self._tell_found()
        return longest if wait is None else min(wait.total_seconds(), longest)

    def _require_tables(self) -> None:
        if not self._is_checked:
            require_current(self._database, get_registry())
            self._is_checked = True

    def _tell_lost(self, exc: Exception) -> None:
        if not self._is_lost:
            self._is_lost = True
            is_expected = isinstance(exc, (AgenticError, SQLAlchemyError))
            details = {} if is_expected else {"exception": Redactor().traceback(exc)}
            log.warning("schedules.lost", reason=Redactor().error(exc), **details)

    def _tell_found(self) -> None:
        if self._is_lost:
            self._is_lost = False
            log.warning("schedules.found", database=self._database.url)

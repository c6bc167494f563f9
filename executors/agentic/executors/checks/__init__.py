"""The checks of ``agentic doctor`` around workers: machine, database, broker, running workers, agents."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from celery import Celery

from agentic.core.hooks import Finding
from agentic.core.settings import Settings
from agentic.executors.celery import app as worker_app
from agentic.executors.celery import make_app
from agentic.executors.checks.broker import broker_findings
from agentic.executors.checks.database import (
    agent_findings,
    database_findings,
    has_active_schedules,
    secret_findings,
)
from agentic.executors.checks.host import host_findings
from agentic.executors.checks.privacy import privacy_findings
from agentic.executors.checks.stores import budget_findings, checkpoint_findings
from agentic.executors.checks.workers import task_findings, worker_findings
from agentic.executors.commands.shared.database import opened
from agentic.executors.errors import BrokerUnavailableError
from agentic.executors.workers.celery_config import broker_in_use
from agentic.executors.workers.dispatch import CeleryDispatcher
from agentic.mappers import Database
from agentic.mappers.errors import DataError
from agentic.mappers.vault.keys import SecretKeys


def look_around(settings: Settings) -> Iterator[Finding]:
    """Yield findings. This takes seconds, also when a server does not answer."""
    yield from host_findings(settings.home)
    yield from privacy_findings(settings)
    yield from task_findings(worker_app)
    yield from budget_findings(settings)
    yield from checkpoint_findings(settings)
    app = None if broker_in_use(settings) is None else make_app(settings)
    if app is not None and not (yield from _look_at_broker(app)):
        app = None
    has_schedules = yield from _look_at_database(settings)
    if app is not None:
        yield from worker_findings(app, has_schedules=has_schedules or bool(app.conf.beat_schedule))


def _look_at_broker(app: Celery) -> Generator[Finding, None, bool]:
    """Return whether it answers."""
    try:
        CeleryDispatcher(app).check()
        yield from broker_findings(app)
    except BrokerUnavailableError as exc:
        yield Finding(str(exc))
        return False
    return True


def _look_at_database(settings: Settings) -> Generator[Finding, None, bool]:
    """Return whether there are active schedules."""
    try:
        with opened(Database(settings.database)) as database:
            yield from database_findings(database)
            keys = SecretKeys.configured(settings)
            yield from secret_findings(database, keys)
            yield from agent_findings(database, keys)
            return has_active_schedules(database)
    except DataError:  # reported by the checks of the migrations
        return False

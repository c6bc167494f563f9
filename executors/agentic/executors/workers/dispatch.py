"""Sends executions to Celery workers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from celery import Celery
from kombu import Connection
from kombu.exceptions import KombuError

from agentic.executors.agents.ending import ExecutionEnd, record_execution_end
from agentic.executors.agents.factory import route_of
from agentic.executors.errors import BrokerUnavailableError
from agentic.executors.workers.config import RUN_AGENT
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    ExecutionStatus,
    create_execution,
)

# A reachable broker answers in milliseconds; a command should not hang on an unreachable one.
CONNECT_TIMEOUT_S = 3


def agent_queue(app: Celery, route: str) -> str:
    """Return the queue in the app's ``task_routes`` for agents of a route: a platform, or more."""
    found = app.amqp.router.route({}, f"{RUN_AGENT}.{route}")
    return str(found["queue"].name)


class CeleryDispatcher:
    """Hands executions to the workers of a Celery app; the message holds ids only."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def check(self) -> None:
        """Make sure that the broker answers; takes a few seconds at most.

        Raises:
            BrokerUnavailableError: There is none, or it does not answer.
        """
        with self._connected():
            pass

    def submit(self, database: Database, agent: AgentModel) -> ExecutionModel:
        """Queue a new execution of ``agent`` and return it.

        The broker is checked first, so that nothing is written while it is down. If it fails just after
        that, the execution is kept as failed, with the reason.

        Raises:
            BrokerUnavailableError: The broker cannot be reached.
        """
        with self._connected() as connection:
            with database.writing() as session:
                execution = create_execution(session, agent)
            try:
                self._send(connection, execution, agent)
            except BrokerUnavailableError as exc:
                # The caller gets the error, too: a quiet log is enough.
                ending = ExecutionEnd(
                    status=ExecutionStatus.FAILED, error=str(exc), cause=exc, log_level=logging.INFO
                )
                with database.writing() as session:
                    log_end = record_execution_end(session, execution.project_id, execution.id, ending)
                log_end()
                raise
        return execution

    def dispatch(self, execution: ExecutionModel, agent: AgentModel) -> None:
        """Queue a stored execution: a new one, or one that failed or was lost.

        Raises:
            BrokerUnavailableError: The broker cannot be reached; the execution is unchanged.
        """
        with self._connected() as connection:
            self._send(connection, execution, agent)

    def _send(self, connection: Connection, execution: ExecutionModel, agent: AgentModel) -> None:
        label = f"{agent.agent_platform}.{agent.agent_name}"
        with translated(self._app):
            self._app.send_task(
                RUN_AGENT,
                args=(execution.id, agent.id),
                # One id per try, so that a try sent twice is recognized, and Flower finds it.
                task_id=f"{execution.id}.{execution.attempts + 1}",
                connection=connection,
                retry=False,
                # Lets task_routes choose the queue by platform, and by what it needs.
                route_name=f"{RUN_AGENT}.{route_of(agent)}",
                # For Flower: a readable name, and arguments without their quotes.
                shadow=f"agentic.{label}",
                argsrepr=f"execution={execution.id} agent={agent.id}",
                kwargsrepr="{}",
            )

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        if not self._app.conf.broker_url:
            raise BrokerUnavailableError(None)
        options = {
            **self._app.conf.broker_transport_options,
            "socket_connect_timeout": CONNECT_TIMEOUT_S,
            "socket_timeout": CONNECT_TIMEOUT_S,
        }
        with translated(self._app):
            made = self._app.connection_for_write(
                connect_timeout=CONNECT_TIMEOUT_S, transport_options=options
            )
            made.ensure_connection(max_retries=1, interval_start=0, timeout=CONNECT_TIMEOUT_S)
        with made:
            yield made


@contextmanager
def translated(app: Celery) -> Iterator[None]:
    """Translate the errors of an unavailable broker.

    Raises:
        BrokerUnavailableError: It is unavailable.
    """
    try:
        yield
    except (KombuError, OSError, KeyError, ValueError, ImportError) as exc:
        # The last three: a URL whose scheme, port or driver kombu does not know.
        reason = " ".join(str(part) for part in exc.args).strip(" .") or type(exc).__name__
        raise BrokerUnavailableError(str(app.conf.broker_url), reason) from exc

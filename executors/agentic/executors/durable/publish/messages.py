"""Announces activations to Celery workers: ids only, so no message is secret, stale or large."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from celery import Celery
from kombu import Producer

from agentic.core.ledger import ActivationId, Dispatchable
from agentic.core.ledger.records import MAX_PRIORITY
from agentic.core.types import ExecutorId, RunId
from agentic.executors.durable.runs.catalog import NODE_MARK
from agentic.executors.durable.worker.host import MAX_COUNTDOWN_S
from agentic.executors.errors import BrokerUnavailableError
from agentic.executors.workers.dispatch import translated

ACTIVATE = "agentic.activate"


class MessageDispatcher:
    """Sends a message for each activation.

    Args:
        app: The Celery app.
        project_id: The project of the runs.
    """

    def __init__(self, app: Celery, project_id: str) -> None:
        self._app = app
        self._project_id = project_id
        # Sending blocks; one thread keeps the order and uses one connection.
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="agentic-dispatch")

    async def dispatch(self, activations: Sequence[Dispatchable]) -> None:
        """Announce activations, each as soon as it is due.

        Raises:
            BrokerUnavailableError: There is no broker, or it cannot be reached.
        """
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._sender, self.send, activations)

    def send(self, activations: Sequence[Dispatchable]) -> None:
        """Send the messages; blocks. Raises as :meth:`dispatch`."""
        if not self._app.conf.broker_url:
            raise BrokerUnavailableError(None)
        now = time.time()
        with translated(self._app), self._app.producer_or_acquire() as producer:
            for activation in activations:
                countdown_s = activation.not_before - now
                if countdown_s <= MAX_COUNTDOWN_S:
                    self._send(activation, producer, max(countdown_s, 0.0))

    def close(self) -> None:
        """Send the pending messages, and end the thread."""
        self._sender.shutdown()

    def _send(self, activation: Dispatchable, producer: Producer, countdown_s: float) -> None:
        run_id, superstep, executor_id, shard = activation.id
        self._app.send_task(
            ACTIVATE,
            args=(self._project_id, run_id, superstep, executor_id, shard),
            # A claim announced twice has one id, by which Flower finds it, and all of its run.
            task_id=f"{activation.id}:{activation.fence}",
            queue=activation.queue,
            # On Redis and similar brokers 0 goes first.
            priority=MAX_PRIORITY - activation.priority,
            countdown=countdown_s or None,
            producer=producer,
            retry=False,
            # For Flower: a readable name, the same for all runs, and arguments without their quotes.
            shadow=f"agentic.{label_of(activation.workflow)}.{executor_id}",
            argsrepr=f"run={run_id} step={superstep} node={executor_id} shard={shard}",
            kwargsrepr="{}",
        )


def label_of(workflow: str) -> str:
    """Return the readable name of a workflow: an agent's platform, or a module's factory.

    Flower counts by it, so there must be few names, without ids.
    """
    outer, mark, node = workflow.partition(NODE_MARK)
    kind, _, rest = outer.partition(":")
    return f"{rest.partition(':')[0] or kind}{mark}{node}"


def activation_of(run_id: str, superstep: int, executor_id: str, shard: int) -> ActivationId:
    """Return the activation a message names."""
    return ActivationId(RunId(run_id), superstep, ExecutorId(executor_id), shard)

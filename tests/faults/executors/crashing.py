"""Kills a process between any two steps of the protocol, once for each of them and superstep.

A place whose ``celeryconfig.py`` imports this has it in all of its processes.
"""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from tests.faults.executors.crash_points import BEATEN, BEGUN, TAKEN_BACK, Point, mark_of
from tests.faults.executors.flows import touch

from agentic.executors.durable.publish.messages import MessageDispatcher
from agentic.executors.durable.reconcile.reconciler import Reconciler
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.leases import Leases
from agentic.executors.durable.worker.worker import DurableWorker

IS_RECONCILER = "reconcile" in sys.argv
"""One of them ends, once: the worker does not start it anew."""


def crash(point: Point | None) -> None:
    """End this process, if none has ended at this point."""
    if point is None or (point == TAKEN_BACK) != IS_RECONCILER:
        return
    if touch(mark_of(point)):
        os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: type, name: str, point_of: Callable[..., Point | None]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def changed(self: object, *args: Any, **options: Any) -> object:
        crash(point_of(self, *args))
        return original(self, *args, **options)

    setattr(owner, name, changed)


def _after(owner: type, name: str, point_of: Callable[..., Point | None]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def changed(self: object, *args: Any, **options: Any) -> object:
        found = original(self, *args, **options)
        crash(point_of(self, *args))
        return found

    @functools.wraps(original)
    async def changed_async(self: object, *args: Any) -> None:
        await original(self, *args)
        crash(point_of(self, *args))

    setattr(owner, name, changed_async if inspect.iscoroutinefunction(original) else changed)


def _step_of_job(job: Any) -> int:
    return int(job.claimed.lease.id.superstep)


def _kept(worker: Any, run_id: str) -> Point | None:
    cached_run = worker._host.run_cache._cached_runs.get(run_id)
    return None if cached_run is None else ("kept", cached_run.state.superstep)


def _taken(_: object, cached_run: Any, plan: object) -> Point:
    return ("advanced", cached_run.state.superstep) if cached_run.revision else BEGUN


def _half_told(_: object, told: Any, *__: object) -> Point | None:
    return ("half-told", told.id.superstep) if told.id.executor_id == "arm2" else None


def _beaten(leases: Any) -> Point | None:
    return BEATEN if any(lease.id.executor_id == "wait" for lease in leases._held) else None


_before(RunHost, "take", _taken)
_before(MessageDispatcher, "_send", _half_told)
_before(DurableWorker, "_do", lambda _, claimed: ("claimed", claimed.lease.id.superstep))
_after(Leases, "_beat", _beaten)
_before(DurableWorker, "_settled", lambda _, job, __: ("worked", _step_of_job(job)))
_after(DurableWorker, "_close", lambda _, __, job, *___: ("written", _step_of_job(job)))
_before(DurableWorker, "_tend", _kept)
_after(Reconciler, "_take_back", lambda *_: TAKEN_BACK)

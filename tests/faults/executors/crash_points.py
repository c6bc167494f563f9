"""Kills a process where it hurts, once for each point and superstep; a worker imports it for that."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from tests.faults.executors.flows import touch

from agentic.core.ledger import Claimed, Dispatchable
from agentic.executors.durable.host import RunHost
from agentic.executors.durable.messages import MessageDispatcher
from agentic.executors.durable.worker import DurableWorker


def crash(point: str, superstep: int) -> None:
    """End this process, if none has ended at this point of this superstep."""
    if touch(f"crashed-{point}-{superstep}"):
        os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: type, name: str, point: str, superstep_of: Callable[..., int | None]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def changed(self: object, *args: Any, **options: Any) -> object:
        superstep = superstep_of(self, *args)
        if superstep is not None:
            crash(point, superstep)
        return original(self, *args, **options)

    setattr(owner, name, changed)


def _claimed(_: object, claimed: Claimed) -> int:
    return claimed.lease.id.superstep


def _worked(_: object, job: Any, *__: object) -> int:
    return int(job.claimed.lease.id.superstep)


def _kept(worker: Any, run_id: str) -> int | None:
    image = worker._host.images._images.get(run_id)
    return None if image is None else int(image.state.superstep)


def _decided(_: object, told: Sequence[Dispatchable]) -> int | None:
    return told[0].id.superstep if told else None


def _half_told(_: object, told: Dispatchable, *__: object) -> int | None:
    return told.id.superstep if told.id.executor_id == "arm2" else None


_before(DurableWorker, "_do", "claimed", _claimed)
_before(DurableWorker, "_settled", "worked", _worked)
_before(DurableWorker, "_tend", "kept", _kept)
_before(RunHost, "spread", "decided", _decided)
_before(MessageDispatcher, "_send", "half-told", _half_told)

"""Workflows that people look at and steer, and what works on their runs when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from agentic.core import (
    Executor,
    ExecutorFailure,
    RetryPolicy,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.graph import CrashPolicy, RequestExpiredError
from agentic.core.ledger import Claimed, Dispatchable, LedgerStore
from agentic.core.types import RunId
from agentic.executors.durable import Submission, WorkflowCatalog
from agentic.executors.durable.reconcile.reconciler import Reconciler
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.worker import Bounds, DurableWorker

MODULE = "tests.integration.executors.durable.steered"
DYING = "host/1"

R = TypeVar("R")


class Nobody:
    """Tells no worker of anything."""

    async def dispatch(self, activations: Sequence[Dispatchable]) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Floor:
    """Where the runs of a ledger are begun, and worked on when a test says so."""

    store: LedgerStore

    def submit(self, workflow: str, message: object = 1, run_id: str | None = None) -> RunId:
        """Accept a run."""

        async def submit(service: RunService) -> RunId:
            handle = await service.submit(f"{MODULE}:{workflow}", message, Submission(run_id=run_id))
            return handle.run_id

        return self._do(submit)

    def work(self, limit: int = 100) -> int:
        """Do all there is to do, or so many activations; return how many those were."""

        async def work(service: RunService) -> int:
            worker, count = DurableWorker(service.host, Bounds(activations=1)), 0
            while count < limit and (await worker.work()).done:
                count += 1
            return count

        return self._do(work)

    def answer(self, run_id: str, responses: Mapping[str, object]) -> None:
        """Answer requests of a run."""
        self._do(lambda service: service.handle(run_id).answer(responses))

    def claim(self, lease_s: float = 60.0) -> Claimed:
        """Take the best activation there is, and do nothing with it."""
        with self.store.transaction() as ledger:
            (best,) = ledger.claimable({"agentic.default"})
            claimed = ledger.claim(best.id, DYING, lease_s)
            assert claimed is not None
            return claimed

    def crash(self) -> None:
        """Take the best activation there is, die, and be found out."""
        self.claim(0.0)
        self._do(lambda service: Reconciler(service.host).sweep())

    def _do(self, act: Callable[[RunService], Awaitable[R]]) -> R:
        async def do() -> R:
            catalog = WorkflowCatalog({}, ["tests"])
            service = RunService(RunHost(store=self.store, catalog=catalog, dispatcher=Nobody()))
            try:
                return await act(service)
            finally:
                service.close()

        return asyncio.run(do())


def asking() -> Workflow:
    """Return a workflow whose sub-workflow asks for a name."""

    @executor(id="ask")
    async def ask(greeting: str, ctx: WorkflowContext) -> str:
        name = await ctx.request_info({"who": greeting}, str)
        return f"{greeting} {name}"

    inner = WorkflowBuilder("inner", version="1").set_start(ask).build()
    return WorkflowBuilder("asking", version="1").set_start(inner.as_executor("talk")).build()


def adding() -> Workflow:
    """Return two executors, one after the other."""

    @executor(id="first")
    async def first(number: int) -> int:
        return number + 1

    @executor(id="second")
    async def second(number: int) -> int:
        return number + 1

    return WorkflowBuilder("adding", version="1").set_start(first).add_edge(first, second).build()


def failing() -> Workflow:
    """Return a workflow that fails."""

    @executor(id="fail")
    async def fail(number: int) -> int:
        raise ValueError(f"{number} is too few")

    return WorkflowBuilder("failing", version="1").set_start(fail).build()


class Post(Executor):
    """Does what may not be done twice."""

    crash = CrashPolicy(on_crash="review")

    @handler
    async def post(self, number: int) -> int:
        """Return it."""
        return number


def guarded() -> Workflow:
    """Return a workflow of which a person decides after a crash, in a child run."""
    inner = WorkflowBuilder("inner", version="1").set_start(Post("post")).build()
    return WorkflowBuilder("guarded", version="1").set_start(inner.as_executor("send")).build()


def learning() -> Workflow:
    """Return an executor that fails once, and tells what it knows of other runs."""

    @executor(id="learn", retry=RetryPolicy(max_attempts=2, first_delay_s=0.0))
    async def learn(number: int, ctx: WorkflowContext) -> None:
        past = await ctx.history()
        if ctx.attempt == number:
            raise OSError("not yet")
        await ctx.yield_output(
            {
                "tries": [attempt.error_type for attempt in past.attempts],
                "errors": [f"{error.error_type} x{error.count}: {error.suggestion}" for error in past.errors],
                "patterns": [pattern.description for pattern in past.successful_patterns],
            }
        )

    return WorkflowBuilder("learning", version="1").set_start(learn).build()


def choosing() -> Workflow:
    """Return a workflow that chooses, fails once, and takes another way when it fails for good."""

    @executor(id="look")
    async def look(number: int) -> int:
        return number

    @executor(id="try", retry=RetryPolicy(max_attempts=2, first_delay_s=0.0))
    async def try_it(number: int) -> None:
        raise OSError(f"no route to http://anna:geheim@host/{number}")

    @executor(id="mend")
    async def mend(failure: ExecutorFailure, ctx: WorkflowContext) -> None:
        await ctx.yield_output(failure.attempt_count)

    return (
        WorkflowBuilder("choosing", version="1")
        .set_start(look)
        .add_edge(look, try_it, is_positive)
        .add_edge(try_it, mend, on="failure")
        .build()
    )


def is_positive(number: int) -> bool:
    """Whether it is above zero."""
    return number > 0


def impatient() -> Workflow:
    """Return an executor that asks, and goes on without an answer after half a second."""

    @executor(id="ask")
    async def ask(greeting: str, ctx: WorkflowContext) -> None:
        try:
            said = await ctx.request_info(greeting, str, deadline=timedelta(seconds=0.5))
        except RequestExpiredError:
            said = "nothing"
        await ctx.yield_output(said)

    return WorkflowBuilder("impatient", version="1").set_start(ask).build()

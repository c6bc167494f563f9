"""What people do with a run: submit it, answer it, let it go on, stop it, until nothing more comes of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from tests.property.durable.auditing import AuditedLedger
from tests.property.durable.cluster import Cluster, DiedMeanwhileError
from tests.property.durable.hosts import NAME
from tests.property.durable.logs import durable_events
from tests.property.durable.troubles import Trouble
from tests.property.graph.mail import Note
from tests.property.graph.playing import MAX_LEGS, Story, answers_to, is_over

from agentic.core import RunResult, RunStatus
from agentic.core.errors import AgenticError
from agentic.core.graph import UnknownRequestError
from agentic.core.graph.checkpoints.restore import restore
from agentic.core.graph.model.state import RunState
from agentic.core.ledger import ActivationStatus, LedgerUnavailableError, RunRow
from agentic.core.ledger.records import NO_LIMIT
from agentic.core.types import RunId
from agentic.executors.durable.errors import CancelledRunError
from agentic.executors.durable.runs.children import info_of
from agentic.executors.durable.runs.control import answer, cancel, pause, resume
from agentic.executors.durable.runs.handle import AsyncRunHandle
from agentic.executors.durable.runs.service import RunService, Submission
from agentic.executors.durable.worker.host import RunHost

RUN_ID = RunId("r")
_SUBMISSION = Submission(run_id=RUN_ID, idempotency_key="key")
_LOOK_S = 3
_PATIENCE_S = 600
_AT_LONGEST_S = 5_000


class StuckError(AssertionError):
    """Nothing happens any more, or no end is in sight."""


@dataclass
class Driver:
    """Sees a run through.

    Attributes:
        cluster: Works on it.
        ledger: Holds it.
        observer: A host nothing ever happens to.
    """

    cluster: Cluster
    ledger: AuditedLedger
    observer: RunHost

    async def see_through(self) -> Story:
        """Submit the run, answer it and let it go on until neither helps; return what came of it."""
        wishes: list[asyncio.Task[None]] = []
        self.cluster.wish = lambda trouble: wishes.append(asyncio.create_task(self._grant(trouble)))
        try:
            legs = await self._legs()
        finally:
            self.cluster.wish = lambda _: None
            for wish in wishes:
                wish.cancel()
        await self._children_end()
        return Story(RUN_ID, tuple(legs), self._state(), durable_events(self.ledger, RUN_ID))

    async def _legs(self) -> list[RunResult]:
        await self._insist(lambda host: RunService(host).submit(NAME, Note("in"), _SUBMISSION))
        legs = [await self._rest()]
        while len(legs) < MAX_LEGS and not is_over(legs):
            await self._go_on(legs[-1])
            legs.append(await self._rest())
        return legs

    async def _go_on(self, leg: RunResult) -> None:
        responses = answers_to(leg.pending_requests)
        revision = self._row().revision

        async def ask(host: RunHost) -> None:
            if self._row().revision > revision:
                return  # it got through, only the answer did not
            if leg.status is RunStatus.WAITING_INPUT and responses:
                try:
                    await answer(host, RUN_ID, responses)
                except UnknownRequestError:  # somebody else was faster
                    pass
                except CancelledRunError:  # so was who had it cancelled: to let it go on comes before answers
                    await resume(host, RUN_ID)
            else:
                await resume(host, RUN_ID)

        await self._insist(ask)

    async def _grant(self, trouble: Trouble) -> None:
        """Do what somebody wants in the middle of everything; it may be too early or too late for that."""
        wishes = {"cancel": self._cancel, "answer": self._answer, "pause": self._pause}
        with suppress(DiedMeanwhileError, AgenticError):
            await self.cluster.ask(wishes[trouble.blow])
        if trouble.blow == "pause":
            await asyncio.sleep(trouble.seconds)
            await self._insist(lambda host: pause(host, RUN_ID, is_paused=False))

    async def _cancel(self, host: RunHost) -> None:
        await cancel(host, RUN_ID, "enough")

    async def _pause(self, host: RunHost) -> None:
        await pause(host, RUN_ID, is_paused=True)

    async def _answer(self, host: RunHost) -> None:
        state = self._state()
        await answer(host, RUN_ID, answers_to([info_of(state, asked) for asked in state.open_requests]))

    async def _insist(self, request: Callable[[RunHost], Awaitable[object]]) -> None:
        """Ask until there is an answer."""
        while True:
            try:
                await self.cluster.ask(request)
            except (DiedMeanwhileError, LedgerUnavailableError):
                await asyncio.sleep(1)
            else:
                return

    async def _rest(self) -> RunResult:
        """Return what the run came to, when it has ended or waits."""
        until = time.time() + _AT_LONGEST_S
        while time.time() < until:
            if self._row().status is not RunStatus.RUNNING:
                return await AsyncRunHandle(self.observer, RUN_ID).result()
            if time.time() - self.ledger.changes[-1].at > _PATIENCE_S:
                break
            self._review()
            await asyncio.sleep(_LOOK_S)
        raise StuckError(f"{RUN_ID} neither ends nor rests")

    async def _children_end(self) -> None:
        """Wait until child runs have come to their end that were broken off with the run around them."""
        async with asyncio.timeout(_PATIENCE_S):
            while self._is_breaking_off():  # noqa: ASYNC110 - a ledger sets no event
                await asyncio.sleep(_LOOK_S)

    def _is_breaking_off(self) -> bool:
        with self.ledger.transaction() as ledger:
            runs = ledger.list_runs(limit=NO_LIMIT)
        return any(run.parent and run.cancel_at and not run.status.is_final for run in runs)

    def _review(self) -> None:
        """Say of what waits for a person that it is to run again."""
        with self.ledger.transaction() as ledger:
            for row in ledger.list_activations(statuses={ActivationStatus.REVIEW}):
                ledger.retry(row.id)

    def _row(self) -> RunRow:
        with self.ledger.transaction() as ledger:
            row = ledger.run(RUN_ID)
        assert row is not None
        return row

    def _state(self) -> RunState:
        with self.ledger.transaction() as ledger:
            stored = ledger.load(RUN_ID)
        return restore(stored, self.observer.catalog.get(NAME).workflow).state

"""A NATS server of the faults' own, to be killed and made to hang, and what it has to have in the end."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sqlalchemy import text

from agentic.core.bus import BusUnavailableError
from agentic.core.bus.envelope import from_message
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.ledger.batches import read_batch
from agentic.core.ledger.records import EventBatch
from agentic.core.services import nats_service
from agentic.core.types import RunId

if TYPE_CHECKING:
    from tests.faults.executors.scene import Scene

DEADLINE_S = 60.0


class Nats:
    """A server on a port and with data that stay, between ``with`` and its end."""

    def __init__(self, folder: Path) -> None:
        service = nats_service(folder)
        self.url = service.urls["nats"]
        self._command = service.command
        self._process: subprocess.Popen[bytes] | None = None
        self._hanging: Thread | None = None
        self._seen = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, where it was and with what it had before."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        """Kill it."""
        if self._hanging is not None:
            self._hanging.join()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def restart(self, away_s: float = 0.0) -> None:
        """Kill it, and start it again a while later."""
        self.kill()
        time.sleep(away_s)
        self.start()

    def hang(self, for_s: float) -> None:
        """Have it answer nobody for a while from now on; everything else goes on."""
        if self._hanging is None or not self._hanging.is_alive():
            self._hanging = Thread(target=self._hang, args=(for_s,), daemon=True)
            self._hanging.start()

    def _hang(self, for_s: float) -> None:
        process = self._process
        if process is not None:
            process.send_signal(signal.SIGSTOP)
            time.sleep(for_s)
            process.send_signal(signal.SIGCONT)

    def check(self, scene: Scene) -> int:
        """Wait until the stream has all events of the scene, each once; return how many those are."""
        if self._hanging is not None:
            self._hanging.join()
        waiting = "SELECT 1 FROM run_events WHERE published_at IS NULL"
        scene.until(lambda: not scene.read(waiting))
        told = asyncio.run(self._told(set(scene.expected)))
        known = Counter(_events_of(scene))
        assert told == known, f"lacking: {known - told}; too many: {told - known}"
        return known.total()

    async def _told(self, runs: set[str]) -> Counter[str]:
        """Return the durable events of runs that came since the look before, by id."""
        bus = NatsBus(self.url)
        try:
            async with asyncio.timeout(DEADLINE_S):
                while True:
                    with suppress(BusUnavailableError):
                        last = (await bus.state()).last
                        break
                    await asyncio.sleep(0.2)
                events = [from_message(one).event async for one in bus.read(after=self._seen, until=last)]
        finally:
            await bus.aclose()
        self._seen = last
        return Counter(
            one.id for one in events if one.sequence is not None and one.run_id.partition("/")[0] in runs
        )


def _events_of(scene: Scene) -> list[str]:
    with scene.place.database.reading() as session:
        rows = session.execute(text("SELECT run_id, first, last, text FROM run_events")).all()
    batches = [
        EventBatch(run_id=RunId(run), first=first, last=last, text=told) for run, first, last, told in rows
    ]
    return [event.id for batch in batches for event in read_batch(batch)]

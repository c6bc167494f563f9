"""Random runs to which everything happens that can; each is told by its seed alone.

    python -m tests.property.graph.simulator                  # a minute of new ones
    SEED=1234 python -m tests.property.graph.simulator        # one of them again

A run that is killed, cancelled, timed out and cut off from its store, at any point and several times, has to
come to what it comes to when nothing of that happens. One whose handlers fail and hang has to keep its books.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from zlib import crc32

from tests.property.graph.checking import check, check_broken_off
from tests.property.graph.history import is_refusal
from tests.property.graph.mail import FlawError, Note
from tests.property.graph.playing import Story, go_on_with, leg, listening
from tests.property.graph.scripted import build
from tests.property.graph.shapes import Drawing, SeededDice, Shape, Taste
from tests.property.graph.state import without_time
from tests.property.graph.troubles import Extent, Trouble, TroubledStore, troubles
from tests.property.graph.virtual import VirtualLoop, loop_of, virtual_loop
from tests.property.graph.world import Entry, World, living_in

from agentic.core import Workflow, WorkflowEvent
from agentic.core.graph import RunStream
from agentic.core.types import RunId

RUN_ID = "r"
KILLS = {"kill", "kill before saving", "kill after saving"}
BREAKS = {"cancel", "time out"}


@dataclass
class Simulation:
    """One run and what happens to it, process after process.

    Attributes:
        shape: Of the workflow.
        world: Around it.
        told: Its events, as a listener hears them.
        lives: Processes that ran it.
        hits: What ended them, or failed the run.
        extent: Of the last life.
    """

    shape: Shape
    world: World
    told: list[WorkflowEvent] = field(default_factory=list)
    lives: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    extent: Extent = field(default_factory=lambda: Extent(1, 1, 1))
    _store: TroubledStore = field(default_factory=TroubledStore)
    _now: float = 0.0

    @cached_property
    def workflow(self) -> Workflow:
        """The same in each process."""
        return build(self.shape)

    def live(self, trouble: Trouble | None = None) -> Story | None:
        """Run, or go on, in one process: to the end, or until trouble ends the process."""
        store, self.lives = self._store, self.lives + 1
        with living_in(self.world), virtual_loop(self._now) as runner:
            loop = loop_of(runner)
            try:
                return runner.run(self._main(trouble, loop))
            except asyncio.CancelledError:
                return None
            finally:
                self.extent = Extent(loop.turn, store.save_count, int(loop.time() - self._now))
                self._now = loop.time()
                if trouble is not None and (store.is_hit or trouble.blow == "time out"):
                    self.hits[trouble.blow] += 1

    async def _main(self, trouble: Trouble | None, loop: VirtualLoop) -> Story:
        task = asyncio.current_task()
        assert task is not None
        self._store.meet(trouble, task.cancel)
        self.world.is_over = lambda: self._store.is_cut_off
        if trouble is not None and trouble.is_at_a_turn:
            loop.before_turn = lambda turn: self._store.strike(trouble) if turn == trouble.moment else None
        first = await leg(listening(await self._stream(trouble), self._hear))
        while not await self._is_stored():
            first = await leg(listening(await self._stream(None), self._hear))
        return await go_on_with(self.workflow, first, self._store, self._hear)

    async def _stream(self, trouble: Trouble | None) -> RunStream:
        workflow, store = self.workflow, self._store
        config = workflow.config
        if trouble is not None and trouble.blow == "time out":
            config = replace(config, run_timeout_s=trouble.moment)
        if await self._is_stored():
            return workflow.resume_stream(RUN_ID, checkpoints=store, config=config)
        return workflow.run_stream(Note("in"), run_id=RUN_ID, checkpoints=store, config=config)

    def _hear(self, event: WorkflowEvent) -> None:
        if not self._store.is_cut_off:
            self.told.append(event)

    async def _is_stored(self) -> bool:
        return bool(await self._store.list_metadata(run_id=RunId(RUN_ID), newest_only=True))


def simulate(seed: int) -> tuple[int, Counter[str]]:
    """Play out what a seed stands for; return the processes that took, and the troubles there were.

    Raises:
        AssertionError: A promise was broken.
    """
    dice = SeededDice(seed)
    shape = Drawing(dice, Taste(expires=False)).shape()  # what expires depends on when a run goes on
    quiet = Simulation(shape, World(seed))
    story = quiet.live()
    assert story is not None
    check(shape, quiet.workflow, story)
    struck = Simulation(shape, World(seed + 1))
    for trouble in troubles(dice, quiet.extent):
        struck.live(trouble)
    if story.is_whole:
        check_struck(struck, story)
    shape = Drawing(dice, Taste()).shape()
    failing = Simulation(shape, World(seed, hitch=lambda entry: _flaw(seed, entry)))
    failed = failing.live()
    assert failed is not None
    check(shape, failing.workflow, failed)
    return quiet.lives + struck.lives + failing.lives, struck.hits


def check_struck(struck: Simulation, quiet: Story) -> None:
    """Let a run come to its end, and assert that nothing of what happened to it can be seen."""
    story = struck.live()
    assert story is not None
    if struck.hits.keys() <= KILLS:
        assert story.outcome == quiet.outcome
    check_broken_off(struck.workflow, quiet, story, struck.told)
    if struck.hits.keys() <= BREAKS:
        finished = Counter(entry.key for entry in struck.world.left)
        if not any(map(is_refusal, struck.told)):  # what a barrier refused, and what waits for it, runs again
            assert set(finished.values()) <= {1}, "what was finished ran again"
        assert set(struck.world.onces.values()) <= {1}, "what was done once was done again"
        durable = {e.id: e for e in struck.told if e.sequence is not None}
        check(struck.shape, struck.workflow, replace(story, events=[*durable.values()]))
    if struck.hits.keys() <= BREAKS | KILLS:
        check_told(struck.told)


def check_told(events: list[WorkflowEvent]) -> None:
    """What a listener was told is never taken back."""
    known: dict[str, str] = {}
    for event in events:
        if event.run_id == RUN_ID and event.sequence is not None:
            text = without_time({**event.to_dict(), "time": None})
            assert known.setdefault(event.id, text) == text


def _flaw(seed: int, entry: Entry) -> float:
    """Fail, hang or stop now and then."""
    chance = crc32(f"{seed}{entry.key}{entry.attempt}{entry.superstep}".encode()) % 24
    if chance == 0:
        raise FlawError("99|trouble")
    if chance == 1:
        raise asyncio.CancelledError
    return 100 if chance == 2 else 0


def main() -> None:
    """Simulate for a minute, or play out one seed."""
    if seed := os.environ.get("SEED"):
        simulate(int(seed))
        return
    began, seconds = time.perf_counter(), float(os.environ.get("SECONDS", "60"))
    first = random.randrange(1_000_000_000)
    lives, count, hits = 0, 0, Counter[str]()
    while (took := time.perf_counter() - began) < seconds:
        try:
            lived, hit = simulate(first + count)
        except BaseException:
            sys.stderr.write(f"SEED={first + count} breaks a promise\n")
            raise
        count, lives, hits = count + 1, lives + lived, hits + hit
    sys.stdout.write(
        f"{count} runs in {lives} schedules in {took:.0f} s, {lives / took * 60:.0f} a minute\n"
        + "".join(f"{hits[name]:6} x {name}\n" for name in sorted(hits))
    )


if __name__ == "__main__":
    main()

"""What can happen to a run from outside: its process dies, it is cancelled, its store fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.property.graph.shapes import Dice

from agentic.core.graph import CheckpointStoreError, MemoryCheckpointStore
from agentic.core.graph.checkpoints.store import Checkpoint

Blow = Literal[
    "kill", "cancel", "time out", "refuse", "lose the answer", "kill after saving", "kill before saving"
]
_AT_A_TURN: tuple[Blow, ...] = ("kill", "cancel")
_AT_A_SAVE: tuple[Blow, ...] = ("refuse", "lose the answer", "kill after saving", "kill before saving")
BLOWS: tuple[Blow, ...] = (*_AT_A_TURN, "time out", *_AT_A_SAVE)


@dataclass(frozen=True)
class Trouble:
    """A blow and its moment.

    Attributes:
        blow: What happens.
        moment: The turn of the loop, the number of the save, or the second.
    """

    blow: Blow
    moment: int

    @property
    def is_at_a_turn(self) -> bool:
        """Whether the loop's turns decide about its moment."""
        return self.blow in _AT_A_TURN


@dataclass(frozen=True)
class Extent:
    """What a run takes when nothing happens to it: turns of the loop, saves, seconds."""

    turns: int
    saves: int
    seconds: int


def troubles(dice: Dice, extent: Extent) -> Sequence[Trouble]:
    """Return some for a run, one after the other."""
    return [_trouble(dice, extent) for _ in range(dice.number(1, 4))]


def _trouble(dice: Dice, extent: Extent) -> Trouble:
    blow = BLOWS[dice.number(0, len(BLOWS) - 1)]
    last = extent.turns if blow in _AT_A_TURN else extent.saves if blow in _AT_A_SAVE else extent.seconds
    return Trouble(blow, dice.number(1, max(1, last)))


class TroubledStore(MemoryCheckpointStore):
    """Outlives its process, and fails when it is told to.

    Attributes:
        save_count: Saves that the process asked for.
        is_cut_off: Whether the process that used it is dead.
        is_hit: Whether the trouble came.
    """

    def __init__(self) -> None:
        super().__init__()
        self.meet(None, lambda: None)

    def meet(self, trouble: Trouble | None, end: Callable[[], object]) -> None:
        """Serve another process, to which something will happen; ``end`` stops everything in it."""
        self._trouble = trouble
        self._end = end
        self.save_count = 0
        self.is_cut_off = False
        self.is_hit = False

    async def save(self, checkpoint: Checkpoint) -> None:
        """Save, or fail, or both."""
        self.save_count += 1
        trouble = self._trouble
        is_now = trouble is not None and not trouble.is_at_a_turn and trouble.moment == self.save_count
        blow = trouble.blow if trouble is not None and is_now else None
        self.is_hit |= is_now
        await asyncio.sleep(0)  # a real one takes a while, too
        if self.is_cut_off or blow == "refuse":
            raise CheckpointStoreError("the store cannot be reached")
        if blow == "kill before saving":
            await self.kill()
        await super().save(checkpoint)
        if blow == "kill after saving":
            await self.kill()
        if blow == "lose the answer":
            raise CheckpointStoreError("the connection was lost")

    async def kill(self) -> None:
        """End the process in the middle of a save."""
        self.cut_off()
        await asyncio.sleep(3600)

    def strike(self, trouble: Trouble) -> None:
        """Cancel the run, or end the process."""
        self.is_cut_off = trouble.blow == "kill"
        self.is_hit = True
        self._end()

    def cut_off(self) -> None:
        """End the process: whatever it still does, nobody will know."""
        self.is_cut_off = self.is_hit = True
        self._end()

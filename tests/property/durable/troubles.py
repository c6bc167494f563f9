"""What can happen to processes, their ledger and their broker, and what people may want meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.property.graph.shapes import Dice

Moment = Literal["turn", "transaction", "dispatch", "publication", "entry", "call", "record"]
"""A turn of the loop; ...; a handler is entered; calls through ``ctx.once``, and records its result."""

BLOWS: Mapping[str, Moment] = {
    "kill": "turn",
    "shut down": "turn",
    "kill at work": "entry",
    "freeze at work": "entry",
    "shut down at work": "entry",
    "kill before a commit": "transaction",
    "kill after a commit": "transaction",
    "conflict": "transaction",
    "refuse": "transaction",
    "lose the answer": "transaction",
    "ledger away": "transaction",
    "kill before a dispatch": "dispatch",
    "kill half-way in a dispatch": "dispatch",
    "broker away": "dispatch",
    "broker away half-way": "dispatch",
    "kill after a call": "call",
    "kill after a record": "record",
    "bus away": "publication",
    "bus is silent": "publication",
    "pause": "turn",
    "cancel": "turn",
    "answer": "turn",
}
STEERING = ("cancel", "answer")
"""What people want that can be seen in the end."""

WISHES = frozenset({"pause", *STEERING})
"""What people want."""

ENDINGS = frozenset({"shut down", "shut down at work"})
"""After these nothing counts as a crash."""

HARMLESS = frozenset(
    {"conflict", "broker away", "broker away half-way", "bus away", "bus is silent", "pause"}
)
"""After these nothing was begun in vain."""

_MAKE_ZOMBIES = frozenset({"freeze at work", "ledger away"})
_MAX_S = 30


@dataclass(frozen=True)
class Trouble:
    """A blow and its moment.

    Attributes:
        blow: What happens.
        number: Of the moment, from 1: of all those of its kind, in whichever process.
        seconds: How long it lasts, if it does.
    """

    blow: str
    number: int
    seconds: float


NONE = Trouble("", 0, 0.0)


def troubles(dice: Dice, extent: Mapping[Moment, int]) -> Sequence[Trouble]:
    """Return some for a run that has about so many moments of each kind."""
    blows = [blow for blow, moment in BLOWS.items() if extent[moment] and blow not in STEERING]
    chosen = [blows[dice.number(0, len(blows) - 1)] for _ in range(dice.number(2, 6))]
    if dice.number(0, 2) == 0:
        chosen.append(STEERING[dice.number(0, len(STEERING) - 1)])
    return [Trouble(b, dice.number(1, extent[BLOWS[b]]), dice.number(1, _MAX_S)) for b in chosen]


class Fate:
    """Knows what is to happen when.

    Args:
        troubles: What will happen.

    Attributes:
        hits: What has happened.
    """

    def __init__(self, troubles: Iterable[Trouble]) -> None:
        self._due = {(BLOWS[trouble.blow], trouble.number): trouble for trouble in troubles}
        self._passed = Counter[Moment]()
        self.hits = Counter[str]()
        self._away_until = dict.fromkeys(("ledger away", "broker away"), 0.0)

    def strike(self, moment: Moment) -> Trouble:
        """Return what happens at a moment that has come."""
        self._passed[moment] += 1
        trouble = self._due.get((moment, self._passed[moment]), NONE)
        if trouble.blow:
            self.hits[trouble.blow] += 1
        if trouble.blow in self._away_until:
            self._away_until[trouble.blow] = time.time() + trouble.seconds
        return trouble

    def relent(self) -> None:
        """Let nothing happen any more."""
        self._due.clear()

    def is_away(self, what: Literal["ledger away", "broker away"]) -> bool:
        """Whether nobody can reach it now."""
        return time.time() < self._away_until[what]

    @property
    def makes_zombies(self) -> bool:
        """Whether a process may have lost a claim without noticing."""
        return not self.hits.keys().isdisjoint(_MAKE_ZOMBIES)

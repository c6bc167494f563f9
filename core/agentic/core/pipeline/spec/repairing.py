"""A spec with an invalid shape, repaired in those places so that the rest can be checked."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import ValidationError

from agentic.core.pipeline.errors import Fault
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.pipeline.spec.check import ANYTHING
from agentic.core.pipeline.spec.messages import STEP_LISTS, faults_of
from agentic.core.pipeline.spec.spec import PipelineSpec

_ROUNDS = 10
_HOLE = {"actor": "?"}
"""Stands for an unreadable step with unknown results."""

_FILLINGS: Mapping[str, object] = {
    "actor": _HOLE["actor"],
    "loop_steps": [_HOLE],
    "match": ["*"],
    "pipeline": {"steps": [_HOLE]},
    "source": "`[]`",
    "start": "http://host/",
    "steps": [_HOLE],
    "when": "`true`",
}
"""For missing or removed parts."""

_FOLLOWING = frozenset({"config", "inputs", "store"})
"""Keys of faults about missing parts, which may be in a removed key beside them."""

Data = dict[str | int, object]


@dataclass(frozen=True, slots=True)
class Repaired:
    """The part of a spec that can be checked.

    Attributes:
        spec: The rest of it.
        places: Places of the removed parts.
        names: Names that results may have because of the removed parts.
    """

    spec: PipelineSpec
    places: tuple[ValuePath, ...]
    names: tuple[str, ...]

    def certain(self, faults: Iterable[Fault]) -> list[Fault]:
        """Return the faults that do not result from the removed parts."""
        return [fault for fault in faults if not any(_follows(fault.place, place) for place in self.places)]


def repaired(data: Mapping[str, object]) -> Repaired | None:
    """Return the checkable part of a spec that is not valid; None if nothing can be checked."""
    rest = cast(Data, copy.deepcopy(dict(data)))
    places: list[ValuePath] = []
    names: list[str] = []
    for _ in range(_ROUNDS):
        try:
            spec = PipelineSpec.model_validate(rest)
        except ValidationError as exc:
            for fault in sorted(faults_of(exc), key=lambda fault: len(fault.place), reverse=True):
                names += _take_out(rest, fault.place)
                places.append(fault.place)
        else:
            return Repaired(spec, tuple(places), tuple(names))
    return None


def _take_out(rest: Data, place: ValuePath) -> list[str]:
    """Remove the part at a place, or fill it if it is missing; return names it may have given."""
    place = _removable(rest, place)
    around: object = rest
    for key in place[:-1]:
        around = _part(around, key)
    if not place or not isinstance(around, (dict, list)):
        return [ANYTHING]
    key, parts = place[-1], cast(Data, around)
    if _is_step(place):
        parts[key] = dict(_HOLE)
    elif place[:-1] == ("inputs",):
        parts[key] = {}
    else:
        removed = parts.pop(key, None)
        if key in _FILLINGS:
            parts[key] = copy.deepcopy(_FILLINGS[str(key)])
        if place == ("inputs",):
            return [ANYTHING, "inputs"]
        return [removed] if isinstance(removed, str) else []
    return []


def _removable(rest: Data, place: ValuePath) -> ValuePath:
    """Return the place of the removable part: lists are removed as a whole, steps alone are not."""
    around: object = rest
    for index, key in enumerate(place):
        if isinstance(around, list) and not _is_step(place[: index + 1]):
            return place[:index]
        around = _part(around, key)
    return place


def _part(around: object, key: str | int) -> object:
    if isinstance(around, dict):
        return around.get(key)
    if isinstance(around, list) and isinstance(key, int) and key < len(around):
        return around[key]
    return None


def _is_step(place: ValuePath) -> bool:
    return len(place) >= 2 and isinstance(place[-1], int) and place[-2] in STEP_LISTS


def _follows(place: ValuePath, removed: ValuePath) -> bool:
    """Whether a fault at a place may only exist because another part was removed."""
    is_within = place[: len(removed)] == removed
    is_beside = place[:-1] == removed[:-1] and bool(place) and place[-1] in _FOLLOWING
    return is_within or is_beside

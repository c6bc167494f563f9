"""Versions of a pipeline: its spec as it was written, with the changes of accepted repairs over it."""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core.pipeline.repairs.proposals import SpecChange, StaleChangeError, apply_changes
from agentic.core.types import JSONValue


def repaired_spec(spec: JSONValue, changes: Iterable[SpecChange]) -> tuple[JSONValue, tuple[SpecChange, ...]]:
    """Return a spec, as data, with the changes that still fit it, and those changes.

    A change whose place has another value than the one it replaces is left out: the owner of the pipeline has
    edited that place since, and the edit wins.
    """
    fitting: list[SpecChange] = []
    for change in changes:
        try:
            spec = apply_changes(spec, [change])
        except StaleChangeError:
            continue
        fitting.append(change)
    return spec, tuple(fitting)


def joined_changes(earlier: Iterable[SpecChange], later: Iterable[SpecChange]) -> tuple[SpecChange, ...]:
    """Return changes and those that follow them, as one change for each place."""
    found: list[SpecChange] = [*earlier]
    for change in later:
        before = next((one for one in found if _continues(one, change)), None)
        if before is None:
            found.append(change)
        else:
            found[found.index(before)] = before.model_copy(update={"new": change.new})
    return tuple(one for one in found if one.is_rename or one.old != one.new)


def _continues(earlier: SpecChange, later: SpecChange) -> bool:
    return (
        not (earlier.is_rename or later.is_rename)
        and (earlier.place, earlier.marks) == (later.place, later.marks)
        and earlier.new == later.old
    )

"""Proposals of repairs: changes to a spec with their evidence, or the reason for none."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.actors import PipelineError
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.pipeline.repairs.marks import PartMark, index_of, marks_at
from agentic.core.types import JSONValue

RepairKind = Literal["field", "start_page", "list", "paging", "json", "login"]


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SpecChange(_Data):
    """One value in a spec that a repair replaces.

    Attributes:
        place: Keys and indices that lead to it: ``("steps", 0, "config", "url")``.
        old: The value there now; of a renamed key, its name; None where there is nothing.
        new: The value that it gets; of a renamed key, its new name.
        is_rename: Whether the last key of ``place`` gets another name, and its value stays: a value that may
            be secret is then in no proposal.
        marks: Of the parts in lists that the place leads through. The same parts are changed after others
            were put before them, and no others after they were removed. Without marks the indices count.
    """

    place: ValuePath = Field(min_length=1)
    old: JSONValue
    new: JSONValue
    is_rename: bool = False
    marks: tuple[PartMark, ...] = ()

    def marked(self, spec: JSONValue) -> SpecChange:
        """Return the change with the marks of the parts that it is for.

        Args:
            spec: The spec that it was made for.
        """
        return self.model_copy(update={"marks": marks_at(spec, self.place)})

    def is_alike(self, other: SpecChange) -> bool:
        """Return whether both replace the same value by the same one, wherever in the spec."""
        mine, theirs = ((one.place[-1], one.old, one.new, one.is_rename) for one in (self, other))
        return mine == theirs


class ProposalEvidence(_Data):
    """The sight of one page.

    Attributes:
        url: Of the page.
        old: The earlier value; None where none is known.
        new: The value that stands there now.
    """

    url: str
    old: JSONValue = None
    new: JSONValue = None


class RepairProposal(_Data):
    """A repair of one part of a pipeline.

    Attributes:
        kind: The kind of part.
        subject: The field, or the id of the step.
        changes: To the spec; empty where only a person can make the change that ``note`` describes.
        score: Share of the evidence that speaks for it, from 0 to 1.
        runner_up: That of the best other way.
        note: The facts seen, and the next step; one or two sentences.
        evidence: From the pages.
    """

    kind: RepairKind
    subject: str
    changes: tuple[SpecChange, ...] = ()
    score: float = Field(default=0.0, ge=0, le=1)
    runner_up: float = Field(default=0.0, ge=0, le=1)
    note: str = ""
    evidence: tuple[ProposalEvidence, ...] = ()


class RepairAbstention(_Data):
    """A part of a pipeline is broken, and no repair is sure enough.

    Attributes:
        kind: The kind of part.
        subject: The field, or the id of the step.
        reason: The facts seen, and the next step; one or two sentences.
        score: That of the best way.
        choices: Addresses, selectors or paths for a person to look at.
    """

    kind: RepairKind
    subject: str
    reason: str
    score: float = Field(default=0.0, ge=0, le=1)
    choices: tuple[str, ...] = ()


Repair = RepairProposal | RepairAbstention


class StaleChangeError(PipelineError, ValueError):
    """A spec has changed since a repair was proposed."""

    def __init__(self, place: ValuePath) -> None:
        where = ".".join(map(str, place))
        super().__init__(f"the value at {where} changed after the repair was proposed; propose it again")
        self.place = place


def apply_changes(spec: JSONValue, changes: Iterable[SpecChange]) -> JSONValue:
    """Return a spec, as data, with some changes.

    Raises:
        StaleChangeError: The spec no longer has the old value at the place of a change.
    """
    data = copy.deepcopy(spec)
    for change in changes:
        *around, last = change.place
        part = data
        marks = list(change.marks)
        for key in around:
            at = key
            if isinstance(part, list) and isinstance(key, int) and marks:
                at = _index(part, key, marks.pop(0), change.place)
            part = _part(part, at, change.place)
        if change.is_rename:
            _rename(part, change)
        elif isinstance(part, dict) and part.get(str(last)) == change.old:
            part[str(last)] = copy.deepcopy(change.new)
        elif isinstance(part, list) and _part(part, last, change.place) == change.old:
            part[int(last)] = copy.deepcopy(change.new)
        else:
            raise StaleChangeError(change.place)
    return data


def _part(value: JSONValue, key: str | int, place: ValuePath) -> JSONValue:
    if isinstance(value, dict) and key in value:
        return value[str(key)]
    if isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
        return value[key]
    raise StaleChangeError(place)


def _index(parts: list[JSONValue], index: int, mark: PartMark, place: ValuePath) -> int:
    found = index_of(parts, index, mark)
    if found is None:
        raise StaleChangeError(place)
    return found


def _rename(part: JSONValue, change: SpecChange) -> None:
    """Give a key another name at the same position."""
    old, new = str(change.place[-1]), str(change.new)
    if not isinstance(part, dict) or old not in part or new in part or old != change.old:
        raise StaleChangeError(change.place)
    renamed = {new if key == old else key: value for key, value in part.items()}
    part.clear()
    part.update(renamed)

"""Healthy pages of one kind, learnt from good runs: numbers for each field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from agentic.core.pipeline.drift.sequential import ALARM, HIGHEST, Steps, healthy_rates, steps_of
from agentic.core.pipeline.drift.values import ITEM_COUNT

RunT = TypeVar("RunT")

KEPT_RUNS = 10
"""Runs that a profile remembers."""

ENOUGH_PAGES = 20
"""Healthy pages that a profile needs before a page can be judged by it."""

FEW_VALUES = 5
"""A field with at most this number of distinct values is an enumeration: new values are odd.

A field with more of them, such as a category, may have a new one on many pages in sequence.
"""

ENUMERATED_PAGES = 50
"""Healthy pages with a value, before a field counts as an enumeration."""

RUN_CHARS = 12
"""Characters of a run's id that are kept."""

MAX_FIELDS = 100
"""Fields of a kind that are watched."""

MAX_NAME_CHARS = 100
"""Fields with longer names are neither watched nor learnt: names may come from the keys of a page's JSON."""

OPTIONAL_RATE = 0.15
"""From this healthy null rate on, a field needs the template of the page as a second witness."""

NEEDED_SHARE = 0.01
"""A field that up to this share of the healthy pages lacked is needed: no page of the kind is without it."""

SELDOM_REPEATED = 0.2
"""Up to this rate of equal values on neighbouring pages, more mean that a selector finds furniture."""


class FieldRun(NamedTuple):
    """A field in one healthy run: pages, and on how many it was missing, odd, or as on the page before.

    ``longest`` and ``same`` are the longest sequences of pages without it, and with one value.
    """

    pages: int
    missing: int = 0
    odd: int = 0
    repeated: int = 0
    longest: int = 0
    same: int = 0


class FieldProfile(BaseModel):
    """A field on healthy pages.

    Attributes:
        runs: The newest healthy runs, by id.
        shapes: How many values had each shape.
        low: Smallest size; see :class:`~agentic.core.pipeline.drift.values.SeenValue`.
        high: Largest size.
        values: Marks of its distinct values; None if there are many.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    runs: dict[str, FieldRun] = {}
    shapes: dict[str, int] = {}
    low: float | None = None
    high: float | None = None
    values: tuple[int, ...] | None = ()


class KindProfile(BaseModel):
    """Healthy pages of one kind: at most some hundred bytes for each field.

    Attributes:
        pages: Pages of each of the newest healthy runs, by the run's id; with the pages that were something
            else, such as a consent wall.
        sizes: Smallest and largest page, in characters.
        fields: By name.
        markers: Texts that are in the markup of each page of the kind, and of few others.
        marks: Hashes of the rules of its fields; see :func:`~agentic.core.pipeline.drift.sights.marks_of`.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    pages: dict[str, tuple[int, int]] = {}
    sizes: tuple[int, int] | None = None
    fields: dict[str, FieldProfile] = {}
    markers: tuple[str, ...] = ()
    marks: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class ExpectedField:
    """What a field must be on a healthy page.

    Attributes:
        missing: Steps of the test on missing values; None if it is missing too often to say.
        missing_alarm: Evidence that is an alarm: higher if healthy pages without it come in sequence.
        is_optional: Whether it needs the template as a second witness.
        is_needed: Whether hardly any healthy page lacks it.
        odd: Steps of the test on odd values; None if they are usual.
        repeated: Steps of the test on repeated values; None if they are usual.
        repeated_alarm: Evidence that is an alarm.
        shapes: The usual shapes.
        low: Smaller sizes are odd.
        high: Larger sizes are odd.
        values: The marks of an enumeration; empty for other fields.
    """

    missing: Steps | None
    missing_alarm: float
    is_optional: bool
    is_needed: bool
    odd: Steps | None
    repeated: Steps | None
    repeated_alarm: float
    shapes: frozenset[str]
    low: float
    high: float
    values: frozenset[int]

    def steps(self, fault: int) -> Steps | None:
        """Return the steps of the test on a fault, by its place in ``FAULTS``."""
        return (self.missing, self.odd, self.repeated)[fault]


@dataclass(frozen=True)
class Expectation:
    """What is expected of a kind of pages, computed once from its profile.

    Attributes:
        profile: The profile.
    """

    profile: KindProfile

    @cached_property
    def is_known(self) -> bool:
        """Whether there were enough healthy pages."""
        return sum(pages for pages, _ in self.profile.pages.values()) >= ENOUGH_PAGES

    @cached_property
    def fields(self) -> Mapping[str, ExpectedField]:
        """The fields with enough healthy pages."""
        if not self.is_known:
            return {}
        return {
            name: _expected(one)
            for name, one in self.profile.fields.items()
            if sum(run.pages for run in one.runs.values()) >= ENOUGH_PAGES
        }

    @cached_property
    def needed(self) -> frozenset[str]:
        """The fields that hardly any healthy page lacks."""
        return frozenset(name for name, one in self.fields.items() if one.is_needed and name != ITEM_COUNT)

    @cached_property
    def walls(self) -> Steps | None:
        """Steps of the test on pages that are something else: a consent wall, a login, nothing there."""
        return _steps(self.profile.pages.values()) if self.is_known else None

    @cached_property
    def smallest(self) -> int:
        """A page without any value is something else if it has fewer characters."""
        return self.profile.sizes[0] // 3 if self.profile.sizes and self.is_known else 0

    @cached_property
    def template(self) -> Steps | None:
        """Steps of the test on pages of an unknown template; None if none is known."""
        return steps_of(0.03) if self.is_known and self.profile.markers else None


@dataclass(slots=True)
class KindSummary:
    """A run's pages of one kind, to be learnt: the same facts as in a profile, of this run alone."""

    pages: int
    walls: int
    sizes: tuple[int, int] | None
    fields: Mapping[str, tuple[FieldRun, FieldProfile]]
    markers: tuple[str, ...]
    starts_over: bool = False


def inherited(
    marks: Mapping[str, str], former: Iterable[KindProfile], written: Mapping[str, str] | None = None
) -> KindProfile:
    """Return the profile that a changed rule begins with: the fields that it has in common with a former one.

    Its markers are left out, because a rule is often changed for a new layout.

    Args:
        marks: Of the changed rule, with the accepted repairs.
        former: Profiles of other rules, the newest first; the first with the most fields in common counts.
        written: Marks of the rule as it was written. A field is in common if either of its marks is.
    """
    either = {*marks.items(), *(written or {}).items()}
    best, shared = KindProfile(), frozenset[str]()
    for profile in former:
        same = marks.keys() & {name for name, _ in either & profile.marks.items()}
        fields = frozenset(same & profile.fields.keys())
        if ITEM_COUNT in same and len(fields - {ITEM_COUNT}) > len(shared - {ITEM_COUNT}):
            best, shared = profile, fields
    if not shared:
        return KindProfile()
    kept = {name: field for name, field in best.fields.items() if name in shared}
    return KindProfile(pages=best.pages, sizes=best.sizes, fields=kept, marks=dict(marks))


def learnt(
    profile: KindProfile, run: str, summary: KindSummary, marks: Mapping[str, str] | None = None
) -> KindProfile:
    """Return a profile with a healthy run; the same run again replaces its former part.

    Args:
        profile: Of the earlier runs.
        run: Id of the run.
        summary: Its pages.
        marks: Hashes of the rules of its fields; None keeps the marks of the profile.
    """
    marks = profile.marks if marks is None else marks
    if summary.starts_over:
        profile = KindProfile()
    run = run[:RUN_CHARS]
    names = [*profile.fields, *(name for name in summary.fields if name not in profile.fields)]
    fields = {}
    for name in names[:MAX_FIELDS]:
        known = profile.fields.get(name, FieldProfile())
        fields[name] = _with_run(known, run, summary.fields[name]) if name in summary.fields else known
    is_first = not profile.pages
    kept = summary.markers if is_first else tuple(one for one in profile.markers if one in summary.markers)
    return KindProfile(
        pages=_newest({**profile.pages, run: (summary.pages, summary.walls)}),
        sizes=_joined(profile.sizes, summary.sizes),
        fields=fields,
        markers=kept or summary.markers,
        marks=dict(marks),
    )


def _with_run(known: FieldProfile, run: str, part: tuple[FieldRun, FieldProfile]) -> FieldProfile:
    tally, seen = part
    shapes = dict(known.shapes)
    for shape, count in seen.shapes.items():
        shapes[shape] = shapes.get(shape, 0) + count
    values = None
    if known.values is not None and seen.values is not None:
        both = tuple(dict.fromkeys((*known.values, *seen.values)))
        values = both if len(both) <= FEW_VALUES else None
    return FieldProfile(
        runs=_newest({**known.runs, run: tally}),
        shapes=shapes,
        low=min((size for size in (known.low, seen.low) if size is not None), default=None),
        high=max((size for size in (known.high, seen.high) if size is not None), default=None),
        values=values,
    )


def _newest(runs: dict[str, RunT]) -> dict[str, RunT]:
    return dict([*runs.items()][-KEPT_RUNS:])


def _joined(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def _expected(known: FieldProfile) -> ExpectedField:
    runs = known.runs.values()
    missing, _ = healthy_rates((run.pages, run.missing) for run in runs)
    missing_steps = _steps((run.pages, run.missing) for run in runs)
    valued = sum(run.pages - run.missing for run in runs)
    repeated, _ = healthy_rates((run.pages - run.missing, run.repeated) for run in runs)
    repeated_steps = steps_of(repeated) if repeated <= SELDOM_REPEATED and valued else None
    total = sum(known.shapes.values())
    low, high = known.low or 0.0, known.high or 0.0
    is_enumeration = (
        known.values is not None and valued >= ENUMERATED_PAGES and not {"t", "w"}.isdisjoint(known.shapes)
    )
    return ExpectedField(
        missing=missing_steps,
        missing_alarm=_alarm(missing_steps, max((run.longest for run in runs), default=0)),
        is_optional=missing >= OPTIONAL_RATE,
        is_needed=sum(run.missing for run in runs) <= NEEDED_SHARE * sum(run.pages for run in runs),
        odd=_steps((run.pages - run.missing, run.odd) for run in runs),
        repeated=repeated_steps,
        repeated_alarm=_alarm(repeated_steps, max((run.same for run in runs), default=0)),
        shapes=frozenset(shape for shape, count in known.shapes.items() if count * 100 >= total),
        low=low / 10 if low > 0 else low * 10,
        high=high * 10 if high > 0 else high / 10,
        values=frozenset(known.values or ()) if is_enumeration else frozenset(),
    )


def _steps(runs: Iterable[tuple[int, int]]) -> Steps | None:
    """Return the steps of the test on a rate; None if it is so high that a page says too little."""
    healthy, of_parts = healthy_rates(runs)
    return steps_of(healthy, of_parts) if healthy < HIGHEST else None


def _alarm(steps: Steps | None, longest: int) -> float:
    """Return the evidence that is an alarm, more than a healthy sequence of such pages has reached."""
    if steps is None:
        return math.inf
    return max(ALARM, 1.3 * longest * steps.all_bad + ALARM / 2)

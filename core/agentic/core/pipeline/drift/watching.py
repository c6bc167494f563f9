"""The watch over one kind of pages in one run: its tallies, and the evidence that it has drifted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from operator import eq
from typing import Literal, cast

from agentic.core.pipeline.drift.incidents import Cause, FieldFault, Incident
from agentic.core.pipeline.drift.profiles import (
    FEW_VALUES,
    MAX_FIELDS,
    MAX_NAME_CHARS,
    Expectation,
    ExpectedField,
    FieldProfile,
    FieldRun,
    KindSummary,
)
from agentic.core.pipeline.drift.sequential import ALARM, Steps
from agentic.core.pipeline.drift.sights import MAX_MARKERS, PageSight
from agentic.core.pipeline.drift.values import ITEM_COUNT, NO_VALUE, SeenValue, seen
from agentic.core.types import JSONValue

RECENT = 20
"""Newest pages that an incident describes."""

MAX_SUSPECTS = 200
"""Pages that are read again after an incident."""

NEW_TEMPLATE = 9.2
"""Evidence of a new template: one in 10,000."""

WITNESSED = 4.6
"""Evidence that is an alarm for an optional field while the template is new: one in 100."""

WITNESS_PAGES = 40
"""Pages of a new template after which an optional field with values needs the full evidence again."""

WEAK, STRONG = 1, 2
"""Strengths of the signs of drift on a page.

Weak: a field is missing that many healthy pages lack, or has the value of the page before. Strong: any
other fault.
"""

SAMPLED = 8
"""Pages of a run that give markers."""

KEPT_MARKERS = 8

VARIANT_SHARE = 0.9
"""With fewer faulty pages among the newest, only a part of the pages has another layout."""

_Columns = tuple[tuple[str, ...], tuple[float | None, ...], tuple[int, ...]]  # shapes, sizes and marks

Place = int
MISSING, ODD, REPEATED = 0, 1, 2
FAULTS: tuple[Literal["missing", "odd", "repeated"], ...] = ("missing", "odd", "repeated")


@dataclass(slots=True)
class FieldWatch:
    """A field in this run. The lists have an entry for each of ``FAULTS``.

    Attributes:
        counts: Pages with the fault.
        recent: Bits: which of the newest pages show the fault, the newest lowest.
        all_pages: Evidence that all pages do.
        part: Evidence that a part of them does.
        row: Length of the present sequence of pages without it, and with one value.
        longest: The longest such sequences.
        shapes: How many values had each shape.
        low: Smallest size.
        high: Largest size.
        mark: Of the newest value.
        values: Marks of the distinct values; None if there are many.
        is_quiet: Whether all evidence is 0, and the newest pages are without a fault.
    """

    counts: list[int] = field(default_factory=lambda: [0, 0, 0])
    recent: list[int] = field(default_factory=lambda: [0, 0, 0])
    all_pages: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    part: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    row: list[int] = field(default_factory=lambda: [0, 0])
    longest: list[int] = field(default_factory=lambda: [0, 0])
    shapes: dict[str, int] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    mark: int | None = None
    values: list[int] | None = field(default_factory=list)
    is_quiet: bool = False

    def note(self, value: SeenValue, expected: ExpectedField | None) -> int:
        """Take the value of a page; return 0 or the strength of the sign of drift."""
        shape, size, mark = value
        if not shape:
            return self._note_missing(expected)
        shapes = self.shapes
        shapes[shape] = shapes.get(shape, 0) + 1
        if size is not None:
            if (low := self.low) is None or size < low:
                self.low = size
            if (high := self.high) is None or size > high:
                self.high = size
        is_repeated = mark == self.mark and mark != 0
        is_odd = expected is not None and looks_odd(value, expected)
        if not is_repeated:
            self.mark, self.row[1] = mark, 0
            values = self.values
            if values is not None and mark not in values:
                values.append(mark)
                if len(values) > FEW_VALUES:
                    self.values = None
            if self.is_quiet and not is_odd:  # of nearly all pages: nothing more to do
                return 0
        return self._note_valued(expected, is_odd=is_odd, is_repeated=is_repeated)

    def is_usual(self, values: Sequence[SeenValue], expected: ExpectedField | None) -> bool:
        """Whether no value of some pages, in their order, adds evidence or meets any."""
        shapes, sizes, marks = cast("_Columns", zip(*values, strict=True))
        if NO_VALUE.shape in shapes or not (self.is_quiet or self.is_clear):
            return False
        if expected is None:
            return True
        if expected.repeated is not None and self._repeats(marks):
            return False
        known = [size for size in sizes if size is not None]
        is_in_range = not known or (expected.low <= min(known) and max(known) <= expected.high)
        is_known = not expected.values or expected.values.issuperset(marks)
        return is_in_range and is_known and expected.shapes.issuperset(shapes)

    def note_usual(self, values: Sequence[SeenValue], expected: ExpectedField | None) -> None:
        """Take usual values (:meth:`is_usual`), as :meth:`note` would one after the other."""
        shapes, sizes, marks = cast("_Columns", zip(*values, strict=True))
        if not self.is_quiet or self._repeats(marks):
            for value in values:
                self.note(value, expected)
            return
        for shape in set(shapes):
            self.shapes[shape] = self.shapes.get(shape, 0) + shapes.count(shape)
        known = [size for size in (*sizes, self.low, self.high) if size is not None]
        if known:
            self.low, self.high = min(known), max(known)
        self.mark, self.row[1] = marks[-1], 0
        if self.values is not None:
            so_far = [*dict.fromkeys((*self.values, *marks))]
            self.values = so_far if len(so_far) <= FEW_VALUES else None

    def _repeats(self, marks: Sequence[int]) -> bool:
        """Whether a value may be equal to the one before it."""
        return marks[0] == self.mark or any(map(eq, marks, marks[1:]))

    def _note_missing(self, expected: ExpectedField | None) -> int:
        self.is_quiet = False
        self.counts[MISSING] += 1
        self.row[0] += 1
        self.longest[0] = max(self.longest[0], self.row[0])
        self._note_recent(MISSING)
        if expected is None or not self._test(MISSING, expected.missing, is_bad=True):
            return 0
        return WEAK if expected.is_optional else STRONG

    def _note_valued(self, expected: ExpectedField | None, *, is_odd: bool, is_repeated: bool) -> int:
        self.row[0] = 0
        self._note_recent(*(fault for fault, is_bad in ((ODD, is_odd), (REPEATED, is_repeated)) if is_bad))
        if is_repeated:
            self.counts[REPEATED] += 1
            self.row[1] += 1
            self.longest[1] = max(self.longest[1], self.row[1])
        if is_odd:
            self.counts[ODD] += 1
        sign = 0
        if expected is not None:
            self._test(MISSING, expected.missing, is_bad=False)
            if self._test(REPEATED, expected.repeated, is_bad=is_repeated):
                sign = WEAK
            if self._test(ODD, expected.odd, is_bad=is_odd):
                sign = STRONG
        self.is_quiet = self.is_clear and not any(self.recent)
        return sign

    def _note_recent(self, *faults: Place) -> None:
        for fault in (MISSING, ODD, REPEATED):
            self.recent[fault] = self.recent[fault] << 1 & _RECENT_BITS | (fault in faults)

    def _test(self, fault: Place, steps: Steps | None, *, is_bad: bool) -> bool:
        """Add a page to the evidence; return whether it adds any."""
        if steps is None:
            return False
        whole, part = self.all_pages, self.part
        if is_bad:
            whole[fault] += steps.all_bad
            if fault != REPEATED:
                part[fault] += steps.part_bad
            return True
        if whole[fault]:
            whole[fault] = max(whole[fault] + steps.all_good, 0.0)
        if part[fault]:
            part[fault] = max(part[fault] + steps.part_good, 0.0)
        return False

    def forget(self) -> None:
        """Start the tests again."""
        for evidence in (self.all_pages, self.part):
            evidence[:] = [0.0, 0.0, 0.0]
        self.recent[:] = [0, 0, 0]
        self.is_quiet = False

    @property
    def is_clear(self) -> bool:
        """Whether all evidence is 0."""
        return not (any(self.all_pages) or any(self.part))

    def dump(self) -> JSONValue:
        """Return it as JSON."""
        return cast(
            JSONValue,
            [
                self.counts,
                self.recent,
                [round(one, 3) for one in self.all_pages],
                [round(one, 3) for one in self.part],
                self.row,
                self.longest,
                self.shapes,
                self.low,
                self.high,
                self.mark,
                self.values,
                self.is_quiet,
            ],
        )


_RECENT_BITS = (1 << RECENT) - 1


@dataclass(slots=True)
class KindWatch:
    """The pages of one kind in this run.

    Attributes:
        label: The kind for people.
        pages: Pages that were judged.
        walls: Pages that were something else.
        sizes: Smallest and largest page, in characters.
        fields: By name.
        wall_evidence: That all pages are something else, and that a part of them is.
        wall_causes: How many newest pages were something else, by cause.
        template: Evidence of a new template, and the page since which it is new (0: it is not).
        markers: Texts that all sampled pages have.
        sampled: Pages that gave markers.
        suspects: Keys of the pages since the evidence began, oldest first.
        doubted: Keys of the newest pages with a fault that few healthy pages have, also of those before the
            evidence went back to 0: where a site shows two layouts, good pages follow bad ones.
        urls: Their addresses, the first three.
        incident: Why pages of the kind are held, or were noted; None for no alarm.
        is_muted: Whether the pages were accepted as they are.
        had_incident: Whether there was one in this run: its pages are not learnt.
        last_blank: Hash of the newest page without values.
        is_repaired: Whether a repair began a new layout: the old markers say nothing.
        before: Keys of the newest pages.
        prior: Keys of the pages before the suspects. The first pages with a repeated value are among them:
            pages that were fetched at the same time may stand between them and the next ones.
    """

    label: str
    pages: int = 0
    walls: int = 0
    sizes: tuple[int, int] | None = None
    fields: dict[str, FieldWatch] = field(default_factory=dict)
    wall_evidence: list[float] = field(default_factory=lambda: [0.0, 0.0])
    wall_causes: dict[str, int] = field(default_factory=dict)
    template: list[float] = field(default_factory=lambda: [0.0, 0.0])
    markers: list[str] = field(default_factory=list)
    sampled: int = 0
    suspects: list[str] = field(default_factory=list)
    doubted: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    incident: Incident | None = None
    is_muted: bool = False
    had_incident: bool = False
    last_blank: str = ""
    is_repaired: bool = False
    before: list[str] = field(default_factory=list)
    prior: list[str] = field(default_factory=list)

    def note(
        self,
        sight: PageSight,
        found: Mapping[str, SeenValue],
        page: tuple[str, str, str],
        expected: Expectation,
    ) -> Incident | None:
        """Take a page; return an incident that begins with it.

        Args:
            sight: The look of the page.
            found: Its fields; see :func:`~agentic.core.pipeline.drift.values.seen_items`.
            page: Its key, its address, and the hash of its body.
            expected: What pages of the kind must be.
        """
        key, url, content_hash = page
        wall = sight.wall
        if wall is None and not any(value[0] for value in found.values()):
            wall = self._stub(sight, content_hash, expected)
        signs = 0
        if wall is not None or any(self.wall_evidence):
            signs = STRONG if self._note_wall(wall, expected) else 0
        if wall is None:
            self.pages += 1
            signs = max(signs, self._note_page(sight, found, expected))
        if signs or self.suspects:
            self._suspect(key, url, signs)
        self.note_key(key)
        if not self.suspects or self.incident is not None or self.is_muted:
            return None
        self.incident = self._judged(sight.kind.key, expected)
        if self.incident is not None:
            self.had_incident = True
            if any(fault.fault == FAULTS[REPEATED] for fault in self.incident.faults):
                self.suspects[:0] = self.prior
        return self.incident

    def note_key(self, key: str) -> None:
        """Take the key of a page."""
        self.before.append(key)
        del self.before[:-RECENT]

    def note_usual(
        self, pages: Sequence[tuple[PageSight, Sequence[Mapping[str, JSONValue]]]], expected: Expectation
    ) -> bool:
        """Take pages at once if none of them has any sign of drift; else take none, and return False.

        The state afterwards is the same as after :meth:`note` of each page, in half of the time.

        Args:
            pages: The look and the items of each page.
            expected: What pages of the kind must be.
        """
        if not self.fields or self.suspects or any(self.wall_evidence):
            return False
        if not expected.fields.keys() <= self.fields.keys():
            return False
        if not all(self._is_plain(sight, items) for sight, items in pages):
            return False
        columns = {name: [seen(items[0].get(name)) for _, items in pages] for name in self.fields}
        if not all(self.fields[name].is_usual(columns[name], expected.fields.get(name)) for name in columns):
            return False
        for name, values in columns.items():
            self.fields[name].note_usual(values, expected.fields.get(name))
        self.pages += len(pages)
        sizes = [sight.size for sight, _ in pages]
        self.sizes = min(*sizes, *(self.sizes or sizes)), max(*sizes, *(self.sizes or sizes))
        return True

    def _is_plain(self, sight: PageSight, items: Sequence[Mapping[str, JSONValue]]) -> bool:
        """Whether the page has one item with the fields of the pages before, and nothing else counts."""
        is_sampled = self.sampled < SAMPLED and sight.markers
        is_special = is_sampled or sight.wall is not None or sight.is_known is not None
        return not is_special and len(items) == 1 and len(items[0]) - ("url" in items[0]) == len(self.fields)

    def _note_page(self, sight: PageSight, found: Mapping[str, SeenValue], expected: Expectation) -> int:
        """Take the fields of a page; return 0 or the strength of the signs on it."""
        size = sight.size
        low, high = self.sizes or (size, size)
        if self.sizes is None or not low <= size <= high:
            self.sizes = (min(low, size), max(high, size))
        if sight.markers and self.sampled < SAMPLED:
            self._sample(sight.markers[:MAX_MARKERS])
        self._note_template(sight, expected)
        fields, wanted, signs = self.fields, expected.fields, 0
        for name, value in found.items():
            known_field = fields.get(name)
            if known_field is None:
                if len(fields) >= MAX_FIELDS or len(name) > MAX_NAME_CHARS:
                    continue
                known_field = fields[name] = self._late_field()
            if sign := known_field.note(value, wanted.get(name)):
                signs = max(signs, sign)
        if len(found) < max(len(fields), len(wanted)):
            for name in sorted((fields.keys() | wanted.keys()) - found.keys()):
                signs = max(
                    signs, fields.setdefault(name, self._late_field()).note(NO_VALUE, wanted.get(name))
                )
        return signs

    def _late_field(self) -> FieldWatch:
        """Return a field that appears on this page: all pages before lack it."""
        late = FieldWatch()
        late.counts[MISSING] = late.row[0] = late.longest[0] = self.pages - 1
        return late

    def _sample(self, markers: Sequence[str]) -> None:
        self.markers = [one for one in self.markers if one in markers] if self.sampled else [*markers]
        self.sampled += 1

    def _note_template(self, sight: PageSight, expected: Expectation) -> None:
        steps, evidence = expected.template, self.template
        if steps is None or sight.is_known is None or self.is_repaired:
            return
        evidence[0] = max(evidence[0] + (steps.all_good if sight.is_known else steps.all_bad), 0.0)
        if evidence[0] >= NEW_TEMPLATE and not evidence[1]:
            evidence[1] = float(self.pages)
        elif not evidence[0]:
            evidence[1] = 0.0

    def _note_wall(self, wall: Cause | None, expected: Expectation) -> bool:
        """Add a page to the evidence that the site shows something else; return whether it does."""
        if wall is not None:
            self.walls += 1
            self.wall_causes[wall] = self.wall_causes.get(wall, 0) + 1
        steps, evidence = expected.walls, self.wall_evidence
        if steps is None:
            return False
        changes = (steps.all_good, steps.part_good) if wall is None else (steps.all_bad, steps.part_bad)
        evidence[:] = [max(one + change, 0.0) for one, change in zip(evidence, changes, strict=True)]
        if not any(evidence):
            self.wall_causes.clear()
        return wall is not None

    def _stub(self, sight: PageSight, content_hash: str, expected: Expectation) -> Cause | None:
        """Return the obstacle on a page without values: it is much too short, or like the one before it."""
        is_same, self.last_blank = content_hash == self.last_blank, content_hash
        return Cause.ELSEWHERE if is_same or sight.size < expected.smallest else None

    def _suspect(self, key: str, url: str, signs: int) -> None:
        if signs == STRONG:
            self.doubted.append(key)
            del self.doubted[:-MAX_SUSPECTS]
        if signs and len(self.suspects) < MAX_SUSPECTS:
            if not self.suspects:
                self.prior = [*self.before]
            self.suspects.append(key)
            if len(self.urls) < 3:
                self.urls.append(url)
        elif self.suspects and self.incident is None and self._is_clear():
            self.suspects.clear()
            self.urls.clear()

    @property
    def read_wrong(self) -> Sequence[str]:
        """Keys of the pages that may have been read wrong, oldest first."""
        return [*dict.fromkeys((*self.doubted, *self.suspects))]

    def _is_clear(self) -> bool:
        return not any(self.wall_evidence) and all(one.is_clear for one in self.fields.values())

    def _judged(self, kind: str, expected: Expectation) -> Incident | None:
        """Return the incident if any evidence is enough for an alarm."""
        if not self.suspects:
            return None
        if max(self.wall_evidence) >= ALARM:
            cause = Cause(max(self.wall_causes, key=lambda name: self.wall_causes[name]))
            return Incident(
                kind=kind, label=self.label, cause=cause, pages=self.pages + self.walls, urls=tuple(self.urls)
            )
        shares = {name: self._share(one, expected.fields.get(name)) for name, one in self.fields.items()}
        if max((share for share, _ in shares.values()), default=0.0) < 1:
            return None
        # Fields of one record that are about to alarm belong to the same incident.
        faults = [
            self._fault(name, fault, expected) for name, (share, fault) in shares.items() if share >= 1 / 2
        ]
        is_whole = max(fault.pages / max(fault.of, 1) for fault in faults) >= VARIANT_SHARE
        return Incident(
            kind=kind,
            label=self.label,
            cause=Cause.LAYOUT if is_whole else Cause.VARIANT,
            faults=tuple(faults),
            pages=self.pages,
            urls=tuple(self.urls),
        )

    def _share(self, one: FieldWatch, expected: ExpectedField | None) -> tuple[float, Place]:
        """Return the evidence as a share of an alarm, and the fault that has it."""
        if expected is None or one.is_clear:
            return 0.0, MISSING
        since = self.template[1]
        is_witnessed = expected.is_optional and 0 < since >= self.pages - WITNESS_PAGES
        missing_alarm = WITNESSED if is_witnessed else expected.missing_alarm
        found = [
            (one.all_pages[MISSING] / missing_alarm, MISSING),
            (one.part[MISSING] / max(expected.missing_alarm, ALARM), MISSING),
            (max(one.all_pages[ODD], one.part[ODD]) / ALARM, ODD),
            (one.all_pages[REPEATED] / expected.repeated_alarm, REPEATED),
        ]
        return max(found)

    def _fault(self, name: str, fault: Place, expected: Expectation) -> FieldFault:
        one = self.fields[name]
        of = min(self.pages, RECENT)
        if one.part[fault] < ALARM and (steps := expected.fields[name].steps(fault)) is not None:
            of = _since(one.recent[fault], of, steps)
        pages = (one.recent[fault] & ((1 << of) - 1)).bit_count()
        usual = expected.profile.fields[name]
        cases = sum((run.missing, run.odd, run.repeated)[fault] for run in usual.runs.values())
        total = sum(run.pages for run in usual.runs.values())
        return FieldFault(
            field="items" if name == ITEM_COUNT else name,
            fault=FAULTS[fault],
            pages=pages,
            of=of,
            usual=cases / max(total, 1),
        )

    def settle(self, *, is_accepted: bool) -> Sequence[str]:
        """End the incident; return the keys of the pages to read again.

        If the pages are right, these are read as they are: the rows of those without values were left alone.
        """
        again = self.read_wrong
        self.incident, self.is_muted = None, is_accepted
        self.suspects.clear()
        self.prior.clear()
        self.doubted.clear()
        self.urls.clear()
        self.wall_evidence[:] = [0.0, 0.0]
        self.template[:] = [0.0, 0.0]
        for one in self.fields.values():
            one.forget()
        return again

    def start_over(self) -> None:
        """Forget the pages so far: they were read before a repair, and only later ones are learnt."""
        self.pages = self.walls = self.sampled = 0
        self.sizes = None
        self.fields.clear()
        self.markers.clear()
        self.is_repaired, self.had_incident = True, False

    def summary(self) -> KindSummary | None:
        """Return what can be learnt from the run; None if it had an incident that was not accepted."""
        if (self.had_incident and not self.is_muted) or not self.pages:
            return None
        return KindSummary(
            pages=self.pages + self.walls,
            walls=self.walls,
            sizes=self.sizes,
            fields={name: self._learnt(one) for name, one in self.fields.items()},
            markers=tuple(self.markers[:KEPT_MARKERS]) if self.sampled > 2 else (),
            starts_over=self.is_muted,
        )

    def _learnt(self, one: FieldWatch) -> tuple[FieldRun, FieldProfile]:
        run = FieldRun(
            pages=self.pages,
            missing=one.counts[MISSING],
            odd=one.counts[ODD],
            repeated=one.counts[REPEATED],
            longest=one.longest[0],
            same=one.longest[1],
        )
        values = None if one.values is None else tuple(one.values)
        return run, FieldProfile(shapes=one.shapes, low=one.low, high=one.high, values=values)

    def dump(self) -> JSONValue:
        """Return it as JSON."""
        return {
            "label": self.label,
            "pages": self.pages,
            "walls": self.walls,
            "sizes": None if self.sizes is None else [*self.sizes],
            "fields": {name: one.dump() for name, one in self.fields.items()},
            "wall_evidence": [round(one, 3) for one in self.wall_evidence],
            "wall_causes": {**self.wall_causes},
            "template": [*self.template],
            "markers": [*self.markers],
            "sampled": self.sampled,
            "suspects": [*self.suspects],
            "doubted": [*self.doubted],
            "urls": [*self.urls],
            "incident": None if self.incident is None else self.incident.model_dump(mode="json"),
            "is_muted": self.is_muted,
            "had_incident": self.had_incident,
            "last_blank": self.last_blank,
            "is_repaired": self.is_repaired,
            "before": [*self.before],
            "prior": [*self.prior],
        }


def _since(recent: int, count: int, steps: Steps) -> int:
    """Return how many of the newest pages have added to the evidence that all show a fault.

    Args:
        recent: Bits: which of the newest pages show it, the newest lowest.
        count: How many pages these are.
        steps: Of the test.
    """
    evidence = best = 0.0
    since = 1
    for at in range(count):
        evidence += steps.all_bad if recent >> at & 1 else steps.all_good
        if evidence > best:
            best, since = evidence, at + 1
    return since


def looks_odd(value: SeenValue, expected: ExpectedField) -> bool:
    """Return whether a value is unlike all on healthy pages: of another shape or size, or unknown."""
    shape, size, mark = value
    if shape not in expected.shapes or (size is not None and not expected.low <= size <= expected.high):
        return True
    return bool(expected.values) and mark not in expected.values


def load_watch(data: Mapping[str, JSONValue]) -> KindWatch:
    """Return what :meth:`KindWatch.dump` has written; additions of a later version are left out."""
    names = {one.name for one in dataclass_fields(KindWatch)}
    known = {name: value for name, value in data.items() if name in names}
    fields = cast("dict[str, list[JSONValue]]", known.pop("fields"))
    sizes = cast("list[int] | None", known.pop("sizes"))
    incident = known.pop("incident")
    watch = KindWatch(**known)  # type: ignore[arg-type]  # as dumped
    watch.fields = {name: FieldWatch(*one) for name, one in fields.items()}  # type: ignore[arg-type]  # as dumped
    watch.sizes = None if sizes is None else (sizes[0], sizes[1])
    watch.incident = None if incident is None else Incident.model_validate(incident)
    return watch

"""The watch over one kind of pages in one run: its tallies, and the evidence that it has drifted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from agentic.core.pipeline.drift.incidents import Cause, FieldFault, Incident
from agentic.core.pipeline.drift.profiles import (
    FEW_VALUES,
    MAX_FIELDS,
    Expectation,
    ExpectedField,
    FieldProfile,
    FieldRun,
    KindSummary,
)
from agentic.core.pipeline.drift.sequential import ALARM, Steps
from agentic.core.pipeline.drift.sights import MAX_MARKERS, PageSight
from agentic.core.pipeline.drift.values import ITEM_COUNT, NO_VALUE, SeenValue
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

SAMPLED = 8
"""Pages of a run that give markers."""

KEPT_MARKERS = 8

VARIANT_SHARE = 0.9
"""With fewer faulty pages among the newest, only a part of the pages has another layout."""

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

    def note(self, value: SeenValue, expected: ExpectedField | None) -> bool:
        """Take the value of a page; return whether the page is a sign of drift."""
        if not value.shape:
            self.counts[MISSING] += 1
            self.row[0] += 1
            self.longest[0] = max(self.longest[0], self.row[0])
            for fault in (MISSING, ODD, REPEATED):
                self.recent[fault] = self.recent[fault] << 1 & _RECENT_BITS | (fault == MISSING)
            return expected is not None and self._test(MISSING, expected.missing, is_bad=True)
        self.row[0] = 0
        is_repeated = value.mark == self.mark and value.mark != 0
        is_odd = expected is not None and _is_odd(value, expected)
        self._learn(value, is_repeated=is_repeated)
        bits = (False, is_odd, is_repeated)
        for fault in (MISSING, ODD, REPEATED):
            if self.recent[fault] or bits[fault]:
                self.recent[fault] = self.recent[fault] << 1 & _RECENT_BITS | bits[fault]
        if is_odd:
            self.counts[ODD] += 1
        if expected is None:
            return False
        self._test(MISSING, expected.missing, is_bad=False)
        odd = self._test(ODD, expected.odd, is_bad=is_odd)
        repeated = self._test(REPEATED, expected.repeated, is_bad=is_repeated)
        return odd or repeated

    def _learn(self, value: SeenValue, *, is_repeated: bool) -> None:
        self.shapes[value.shape] = self.shapes.get(value.shape, 0) + 1
        size = value.size
        if size is not None:
            if self.low is None or size < self.low:
                self.low = size
            if self.high is None or size > self.high:
                self.high = size
        if is_repeated:
            self.counts[REPEATED] += 1
            self.row[1] += 1
            self.longest[1] = max(self.longest[1], self.row[1])
            return
        self.row[1] = 0
        self.mark = value.mark
        if self.values is not None and value.mark not in self.values:
            self.values.append(value.mark)
            if len(self.values) > FEW_VALUES:
                self.values = None

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
        urls: Their addresses, the first three.
        incident: Why pages of the kind are held, or were noted; None for no alarm.
        is_muted: Whether the pages were accepted as they are.
        had_incident: Whether there was one in this run: its pages are not learnt.
        last_blank: Hash of the newest page without values.
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
    urls: list[str] = field(default_factory=list)
    incident: Incident | None = None
    is_muted: bool = False
    had_incident: bool = False
    last_blank: str = ""

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
        is_blank = not any(value.shape for value in found.values())
        wall = sight.wall or (self._stub(sight, content_hash, expected) if is_blank else None)
        is_sign = self._note_wall(wall, expected)
        if wall is None:
            self.pages += 1
            is_sign |= self._note_page(sight, found, expected)
        self._suspect(key, url, is_sign=is_sign)
        if self.incident is not None or self.is_muted:
            return None
        self.incident = self._judged(sight.kind.key, expected)
        self.had_incident |= self.incident is not None
        return self.incident

    def _note_page(self, sight: PageSight, found: Mapping[str, SeenValue], expected: Expectation) -> bool:
        size = sight.size
        low, high = self.sizes or (size, size)
        self.sizes = (min(low, size), max(high, size))
        if sight.markers and self.sampled < SAMPLED:
            known = sight.markers[:MAX_MARKERS]
            self.markers = [one for one in self.markers if one in known] if self.sampled else [*known]
            self.sampled += 1
        self._note_template(sight, expected)
        fields, wanted, is_sign = self.fields, expected.fields, False
        for name, value in found.items():
            known_field = fields.get(name)
            if known_field is None:
                if len(fields) >= MAX_FIELDS:
                    continue
                known_field = fields[name] = FieldWatch()
            is_sign |= known_field.note(value, wanted.get(name))
        if len(found) < len(fields) or (wanted and len(found) < len(wanted)):
            for name in fields.keys() | wanted.keys():
                if name not in found:
                    is_sign |= fields.setdefault(name, FieldWatch()).note(NO_VALUE, wanted.get(name))
        return is_sign

    def _note_template(self, sight: PageSight, expected: Expectation) -> None:
        steps, evidence = expected.template, self.template
        if steps is None or sight.is_known is None:
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

    def _suspect(self, key: str, url: str, *, is_sign: bool) -> None:
        if is_sign and len(self.suspects) < MAX_SUSPECTS:
            self.suspects.append(key)
            if len(self.urls) < 3:
                self.urls.append(url)
        elif self.suspects and self.incident is None and self._is_clear():
            self.suspects.clear()
            self.urls.clear()

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
        of = min(self.pages, len(self.suspects)) if one.part[fault] < ALARM else min(self.pages, RECENT)
        of = max(of, 1)
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
        """End the incident; return the keys of the pages to read again: none if the pages are right."""
        again = [] if is_accepted else [*self.suspects]
        self.incident, self.is_muted = None, is_accepted
        self.suspects.clear()
        self.urls.clear()
        self.wall_evidence[:] = [0.0, 0.0]
        self.template[:] = [0.0, 0.0]
        for one in self.fields.values():
            one.forget()
        return again

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
            "urls": [*self.urls],
            "incident": None if self.incident is None else self.incident.model_dump(mode="json"),
            "is_muted": self.is_muted,
            "had_incident": self.had_incident,
            "last_blank": self.last_blank,
        }


def _is_odd(value: SeenValue, expected: ExpectedField) -> bool:
    if value.shape not in expected.shapes:
        return True
    size = value.size
    if size is not None and not expected.low <= size <= expected.high:
        return True
    return bool(expected.values) and value.mark not in expected.values


def load_watch(data: Mapping[str, JSONValue]) -> KindWatch:
    """Return what :meth:`KindWatch.dump` has written."""
    known = dict(data)
    fields = cast("dict[str, list[JSONValue]]", known.pop("fields"))
    sizes = cast("list[int] | None", known.pop("sizes"))
    incident = known.pop("incident")
    watch = KindWatch(**known)  # type: ignore[arg-type]  # as dumped
    watch.fields = {name: FieldWatch(*one) for name, one in fields.items()}  # type: ignore[arg-type]  # as dumped
    watch.sizes = None if sizes is None else (sizes[0], sizes[1])
    watch.incident = None if incident is None else Incident.model_validate(incident)
    return watch

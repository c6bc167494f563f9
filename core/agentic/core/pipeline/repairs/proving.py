"""Proves new places of fields on pages that they were not made from. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentic.core.pipeline.drift.profiles import Expectation
from agentic.core.pipeline.drift.values import seen
from agentic.core.pipeline.drift.watching import looks_odd
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.pipeline.repairs.fields import EMPTY, FEW, LookedAtPage, Values, hits_at, is_same, lacks
from agentic.core.pipeline.repairs.proposals import (
    ProposalEvidence,
    Repair,
    RepairAbstention,
    RepairProposal,
    SpecChange,
)
from agentic.core.types import JSONValue
from agentic.core.wrappers import Abstained, Found, Locator, locators_of

MORE_OFTEN = 0.25
"""How much oftener than on healthy pages a value may be missing or odd at a new place."""

CHANGED = 1 / 3
CHANGED_TEXTS = 1 / 4
"""Largest share of other values than the stored ones: numbers change oftener than texts."""

ALMOST_SURE = 0.9999
SHOWN_PAGES = 3
SHOWN_CHARS = 200

Reading = Sequence[Values | None]
"""The fields of each page; None where they cannot be read."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Pages that prove new places.

    Attributes:
        makers: Pages that the places were made from.
        provers: Other pages.
        expected: Of healthy pages.
        broken: Names of the broken fields.
    """

    makers: Sequence[LookedAtPage]
    provers: Sequence[LookedAtPage]
    expected: Expectation
    broken: Collection[str]

    @property
    def pages(self) -> Sequence[LookedAtPage]:
        """All pages, in the order of each reading."""
        return [*self.makers, *self.provers]

    def is_optional(self, name: str) -> bool:
        """Return whether some healthy pages have no value for a field."""
        return self.usual_missing(name) > 0 or any(self.lacks(page, name) for page in self.pages)

    def usual_missing(self, name: str) -> float:
        """Return the share of healthy pages without a value for a field; 0 if none were learnt."""
        profile = self.expected.profile.fields.get(name)
        runs = list(profile.runs.values()) if profile is not None else []
        total = sum(run.pages for run in runs)
        return sum(run.missing for run in runs) / total if total else 0.0

    def lacks(self, page: LookedAtPage, name: str) -> bool:
        """Return whether the stored row says that a page has no value for a field.

        If all rows lack the only broken field, an earlier run has read them with broken rules.
        """
        is_told = len(self.broken) > 1 or any(one.row.get(name) not in EMPTY for one in self.pages)
        return is_told and lacks(page, name, self.broken)


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings about broken fields.

    Attributes:
        found: The new places of each field, or why it has none.
        doubts: Why none of the places of a field is proved.
        new: New rules of the other fields.
    """

    found: Mapping[str, Found | Abstained]
    doubts: Mapping[str, str]
    new: Mapping[str, JSONValue]


def proved_places(
    rules: Mapping[str, JSONValue],
    found: Mapping[str, Found | Abstained],
    readings: Sequence[Reading],
    proof: Proof,
) -> tuple[dict[str, list[Locator]], dict[str, str]]:
    """Return the new places of each field that prove themselves, and why a field has none.

    Args:
        rules: Of all fields, in effect.
        found: The new places of each broken field.
        readings: All pages, read with the first place of each field, with the second, and so on.
        proof: The pages.
    """
    firsts = {name: locators_of(rule)[:1] for name, rule in rules.items() if name not in found}
    firsts |= {name: [*one.locators[:1]] for name, one in found.items() if isinstance(one, Found)}
    kept: dict[str, list[Locator]] = {}
    doubts: dict[str, str] = {}
    for name, one in found.items():
        if isinstance(one, Abstained):
            continue
        others = [place for other, places in firsts.items() if other != name for place in places]
        whys = [
            doubt(name, reading, proof) or _neighbour(name, place, others, proof)
            for place, reading in zip(one.locators, readings, strict=False)
        ]
        if proved := [place for place, why in zip(one.locators, whys, strict=True) if not why]:
            kept[name] = proved
        else:
            doubts[name] = whys[0]
    return kept, doubts


def _neighbour(name: str, place: Locator, others: Sequence[Locator], proof: Proof) -> str:
    """Return why a place gives another field where its own is missing; "" if it does not."""
    if not proof.is_optional(name):
        return ""
    others = [one for one in others if one.attr == place.attr]  # a link has a text and an address
    for page in proof.pages:
        further = {*hits_at(place, page.tree)[1:]}
        if any(further.intersection(hits_at(other, page.tree)[:1]) for other in others):
            return f"the new place of {name!r} gives another field on pages without {name!r}"
    return ""


def doubt(name: str, reading: Reading, proof: Proof) -> str:
    """Return why a new place is wrong on some pages; "" if it is not."""
    why = next(_doubts(name, reading, proof), "")
    return f"the new place of {name!r} has {why} pages" if why else ""


def _doubts(name: str, reading: Reading, proof: Proof) -> Iterator[str]:
    every = [None if item is None else item.get(name) for item in reading]
    lacking = [value for page, value in zip(proof.pages, every, strict=True) if proof.lacks(page, name)]
    filled = sum(value not in EMPTY for value in lacking)
    if filled and 2 * filled >= len(lacking):
        yield f"a value where the stored row has none on {filled} of {len(lacking)}"
    pairs = [
        (page, value)
        for page, value in zip(proof.provers, every[len(proof.makers) :], strict=True)
        if not proof.lacks(page, name)
    ]
    found = [value for _, value in pairs if value not in EMPTY]
    missing = len(pairs) - len(found)
    if missing and missing >= len(pairs) * min(1.0, proof.usual_missing(name) + MORE_OFTEN):
        yield f"no value on {missing} of {len(pairs)} other"
    compared = [(value, page.row[name]) for page, value in pairs if _has_both(page, name, value)]
    wrong = sum(not is_same(value, stored) for value, stored in compared)
    most = CHANGED if compared and isinstance(compared[0][1], int | float) else CHANGED_TEXTS
    if wrong > len(compared) * most:
        yield f"another value than the stored row on {wrong} of {len(compared)} other"
    expected = proof.expected.fields.get(name)
    if expected is None:
        return
    odd = sum(looks_odd(seen(value), expected) for value in found)
    if odd > len(found) * MORE_OFTEN:
        yield f"values unlike all before on {odd} of {len(found)} other"
    if expected.repeated is not None and len(found) >= FEW and len({seen(one).mark for one in found}) == 1:
        yield f"the same value on {len(found)} other"


def _has_both(page: LookedAtPage, name: str, value: JSONValue) -> bool:
    return value not in EMPTY and page.row.get(name) not in EMPTY


def judged(
    rules: Mapping[str, JSONValue], findings: Findings, place: ValuePath, reading: Reading, proof: Proof
) -> tuple[list[Repair], int]:
    """Return the repair of each field, and how many pages prove all of them.

    Args:
        rules: Of all fields, in effect.
        findings: About the broken ones.
        place: Leads to the rules in the spec.
        reading: All pages, read with the new rules.
        proof: The pages.
    """
    changed = _changed_otherwise(findings.new, reading, proof)
    repairs: list[Repair] = []
    proved = [len(proof.provers)]
    for name, one in findings.found.items():
        if isinstance(one, Abstained):
            choices = tuple(choice.texts[0][:SHOWN_CHARS] for choice in one.choices if choice.texts)
            repairs.append(_abstained(name, one.reason, one.best, choices))
        elif why := findings.doubts.get(name) or changed or doubt(name, reading, proof):
            repairs.append(_abstained(name, why, one.place.probability))
        else:
            proved.append(_count_proved(name, reading, proof))
            repairs.append(
                RepairProposal(
                    kind="field",
                    subject=name,
                    changes=(SpecChange(place=(*place, name), old=rules[name], new=findings.new[name]),),
                    score=_score(name, one, reading, proof),
                    runner_up=_share(one.runner_up),
                    note=_shown_rule(rules[name], findings.new[name]),
                    evidence=_evidence(name, one, reading, proof),
                )
            )
    return repairs, min(proved)


def harmed_fields(
    new: Mapping[str, JSONValue], others: Sequence[LookedAtPage], reading: Reading
) -> dict[str, str]:
    """Return the fields that new rules change on pages of the former layout, and why that is wrong.

    Args:
        new: New rules of some fields.
        others: Pages that the rules in effect read as before.
        reading: These pages, read with the new rules.
    """
    pairs = [*zip(others, reading, strict=True)]
    found: dict[str, str] = {}
    for name in new:
        count = sum(item is None or item.get(name) != page.item.get(name) for page, item in pairs)
        if count:
            found[name] = (
                f"the new place of {name!r} changes {count} of {len(pairs)} pages that are as before"
            )
    return found


def _abstained(name: str, reason: str, best: float, choices: tuple[str, ...] = ()) -> RepairAbstention:
    return RepairAbstention(kind="field", subject=name, reason=reason, score=_share(best), choices=choices)


def _of_provers(reading: Reading, proof: Proof) -> list[tuple[LookedAtPage, Values]]:
    read = zip(proof.provers, reading[len(proof.makers) :], strict=True)
    return [(page, item) for page, item in read if item is not None]


def _count_proved(name: str, reading: Reading, proof: Proof) -> int:
    """Return how many other pages have a value at a new place, or none as it was stored."""
    return sum(
        item.get(name) not in EMPTY or proof.lacks(page, name) for page, item in _of_provers(reading, proof)
    )


def _changed_otherwise(new: Mapping[str, JSONValue], reading: Reading, proof: Proof) -> str:
    """Return why the new rules change a field that is not broken; "" if they do not."""
    for page, item in zip(proof.pages, reading, strict=True):
        for name, value in (item or {}).items():
            if name not in new and value != page.item.get(name):
                return f"the new rules also change {name!r}, which is not broken, on {page.page.final_url}"
    return ""


def _evidence(name: str, found: Found, reading: Reading, proof: Proof) -> tuple[ProposalEvidence, ...]:
    """Return the values on the proving pages, or on those that the place was made from."""
    shown = [
        ProposalEvidence(url=page.page.final_url, old=_short(page.row.get(name)), new=_short(item.get(name)))
        for page, item in _of_provers(reading, proof)
    ] or [
        ProposalEvidence(url=one.url, old=_short(one.old), new=_short(one.new[0] if one.new else None))
        for one in found.evidence
    ]
    return tuple(shown[:SHOWN_PAGES])


def _score(name: str, found: Found, reading: Reading, proof: Proof) -> float:
    """Return the probability of a place after its proof.

    Each further value that is the stored one of its page leaves a tenth of the doubt: chance finds one of
    them, but not another one on the next page.
    """
    agreeing = {
        json.dumps(page.row[name], sort_keys=True)
        for page, item in _of_provers(reading, proof)
        if page.row.get(name) not in EMPTY and is_same(item.get(name), page.row[name])
    }
    return _share(1 - (1 - found.place.probability) / 10 ** len(agreeing))


def _short(value: JSONValue) -> JSONValue:
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 3]}..."


def _shown_rule(old: JSONValue, new: JSONValue) -> str:
    before, after = (next(iter(locators_of(rule)), None) for rule in (old, new))
    return f"{before.path if before else '-'} -> {after.path if after else '-'}"[:SHOWN_CHARS]


def _share(probability: float) -> float:
    return round(min(ALMOST_SURE, max(0.0, probability)), 4)

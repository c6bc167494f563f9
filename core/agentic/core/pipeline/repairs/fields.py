"""Fields of a record that are broken, their new places, and the proof on other pages. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agentic.core.actors import Page
from agentic.core.pipeline.drift.profiles import Expectation
from agentic.core.pipeline.drift.values import seen
from agentic.core.pipeline.drift.watching import looks_odd
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.pipeline.repairs.proposals import (
    ProposalEvidence,
    Repair,
    RepairAbstention,
    RepairProposal,
    SpecChange,
)
from agentic.core.types import JSONValue
from agentic.core.wrappers import (
    Abstained,
    Found,
    Kind,
    Locator,
    Observation,
    PageTree,
    StoredPage,
    Wrapper,
    learn,
    locators_of,
    repair,
    with_locators,
    wrapper_of_values,
)
from agentic.core.wrappers.rules import comparable, wrapper_of_rule
from agentic.core.wrappers.values import agreement

Values = Mapping[str, JSONValue]
Fault = Literal["missing", "odd", "repeated"]

MAX_PLACES = 8
"""Places of a repaired rule: the new ones, and the old ones behind them."""

MORE_OFTEN = 0.25
"""How much oftener than on healthy pages a value may be missing or odd at a new place."""

SAME = 0.9
ALMOST_SURE = 0.9999
FEW = 3
SHOWN_PAGES = 3
SHOWN_CHARS = 200
_EMPTY: tuple[JSONValue, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class LookedAtPage:
    """A page of the new layout.

    Attributes:
        page: As it was fetched.
        item: Its fields, read with the rules in effect.
        row: The stored row; empty without one.
        tree: Its elements.
    """

    page: Page
    item: Values
    row: Values
    tree: PageTree


@dataclass(frozen=True, slots=True)
class Proof:
    """Pages that new places were not made from.

    Attributes:
        pages: The pages.
        items: The fields of each, read with the new rules; None where they cannot be read.
        expected: Of healthy pages.
    """

    pages: Sequence[LookedAtPage]
    items: Sequence[Values | None]
    expected: Expectation


def broken_fields(
    rules: Mapping[str, JSONValue], pages: Sequence[LookedAtPage], faults: Mapping[str, Fault]
) -> dict[str, Fault]:
    """Return the fields to repair: those that alarmed, and those that are gone together with them.

    A field that is read on most pages as it was stored is not broken, whatever alarmed.

    Args:
        rules: Of all fields.
        pages: Of the new layout.
        faults: The fields that alarmed.
    """
    found: dict[str, Fault] = {}
    for name in rules:
        stored = [page for page in pages if page.row.get(name) not in _EMPTY]
        same = sum(is_same(page.item.get(name), page.row[name]) for page in stored)
        is_gone = len(stored) >= FEW and all(page.item.get(name) in _EMPTY for page in stored)
        if is_gone:
            found[name] = "missing"
        elif name in faults and not (stored and 2 * same > len(stored)):
            found[name] = faults[name]
    return found


def find_places(
    rules: Mapping[str, JSONValue],
    pages: Sequence[LookedAtPage],
    broken: Collection[str],
    learnt: Mapping[str, Wrapper],
) -> dict[str, Found | Abstained]:
    """Return the new places of broken fields, by the stored rows first.

    Args:
        rules: Of all fields.
        pages: Of the new layout; those with rows are best.
        broken: Names of the fields to repair.
        learnt: What earlier runs know of fields.
    """
    known = _wrappers(rules, pages, broken, learnt)
    stored = [StoredPage(page.tree, _plain_row(page.row) or None) for page in pages]
    found = repair(known, stored, [name for name in broken if name in known])
    for name in broken:
        if name not in known:
            reason = f"the rule of {name!r} is more than a text at a place; correct it by hand"
            found[name] = Abstained(reason, 0.0, ())
    return found


def repaired_rule(rule: JSONValue, found: Found, fault: Fault, *, is_part: bool) -> JSONValue:
    """Return a rule with new places.

    Places that found nothing stay behind the new ones, for pages that are still as before; if only a part of
    the pages has the new layout, before them. Places that found something wrong go.

    Args:
        rule: The rule in effect.
        found: The new places.
        fault: The fault that alarmed.
        is_part: Whether only a part of the pages has the new layout.
    """
    old = locators_of(rule) if fault == "missing" else []
    new = [one for one in found.locators if one not in old]
    places = [*old, *new] if is_part else [*new, *old]
    return with_locators(rule, places[:MAX_PLACES], is_list=_is_list(rule))


def judged(
    rules: Mapping[str, JSONValue],
    new: Mapping[str, JSONValue],
    found: Mapping[str, Found | Abstained],
    place: ValuePath,
    proof: Proof,
) -> tuple[list[Repair], int]:
    """Return the repair of each field, and how many pages prove all of them.

    Args:
        rules: Of all fields, in effect.
        new: New rules of fields.
        found: The new place of each broken field, or why it has none.
        place: Leads to the rules in the spec.
        proof: Other pages, read with the new rules.
    """
    changed = _changed_otherwise(new, proof)
    repairs: list[Repair] = []
    checked = [len(proof.pages)]
    for name, one in found.items():
        if isinstance(one, Abstained):
            choices = tuple(choice.texts[0][:SHOWN_CHARS] for choice in one.choices if choice.texts)
            repairs.append(
                RepairAbstention(
                    kind="field", subject=name, reason=one.reason, score=_share(one.best), choices=choices
                )
            )
        elif why := changed or doubt(name, proof):
            repairs.append(
                RepairAbstention(kind="field", subject=name, reason=why, score=_share(one.place.probability))
            )
        else:
            checked.append(sum(item is not None and item.get(name) not in _EMPTY for item in proof.items))
            repairs.append(
                RepairProposal(
                    kind="field",
                    subject=name,
                    changes=(SpecChange(place=(*place, name), old=rules[name], new=new[name]),),
                    score=_score(name, one, proof),
                    runner_up=_share(one.runner_up),
                    note=_shown_rule(rules[name], new[name]),
                    evidence=_evidence(name, one, proof),
                )
            )
    return repairs, min(checked)


def doubt(name: str, proof: Proof) -> str:
    """Return why a new place does not prove itself on other pages; "" if it does."""
    why = next(_doubts(name, proof), "")
    return f"the new place of {name!r} has {why} other pages" if why else ""


def _doubts(name: str, proof: Proof) -> Iterator[str]:
    values = [None if item is None else item.get(name) for item in proof.items]
    found = [value for value in values if value not in _EMPTY]
    missing = len(values) - len(found)
    if missing and missing >= len(values) * min(1.0, _usual_missing(name, proof) + MORE_OFTEN):
        yield f"no value on {missing} of {len(values)}"
    compared = [
        is_same(value, page.row[name])
        for page, value in zip(proof.pages, values, strict=True)
        if value not in _EMPTY and page.row.get(name) not in _EMPTY
    ]
    if compared and 2 * sum(compared) <= len(compared):
        yield f"another value than the stored row on {len(compared) - sum(compared)} of {len(compared)}"
    expected = proof.expected.fields.get(name)
    if expected is None:
        return
    odd = sum(looks_odd(seen(value), expected) for value in found)
    if odd > len(found) * MORE_OFTEN:
        yield f"values unlike all before on {odd} of {len(found)}"
    if expected.repeated is not None and len(found) >= FEW and len({seen(one).mark for one in found}) == 1:
        yield f"the same value on {len(found)}"


def is_same(found: JSONValue, stored: JSONValue) -> bool:
    """Return whether a value that was read is the stored one."""
    found, stored = comparable(found), comparable(stored)
    if found in _EMPTY or stored in _EMPTY:
        return found in _EMPTY and stored in _EMPTY
    if isinstance(stored, int | float) and isinstance(found, int | float):
        return abs(found - stored) <= 1e-6 * max(1.0, abs(stored))
    texts = [str(one) for one in found] if isinstance(found, list) else [str(found)]
    known: JSONValue = [str(one) for one in stored] if isinstance(stored, list) else str(stored)
    return agreement(Kind.TEXT, texts, known) >= SAME


def _wrappers(
    rules: Mapping[str, JSONValue],
    pages: Sequence[LookedAtPage],
    broken: Collection[str],
    learnt: Mapping[str, Wrapper],
) -> dict[str, Wrapper]:
    """Return the wrapper of each field: as it was learnt, else from its stored values."""
    known: dict[str, Wrapper] = {}
    for name, rule in rules.items():
        made = wrapper_of_rule(name, rule)
        if made is not None:
            values = [one for page in pages if (one := comparable(page.row.get(name))) not in _EMPTY]
            shape = wrapper_of_values(name, values, kind=made.kind, locators=made.locators)
            known[name] = replace(shape, is_list=made.is_list)
    for page in pages:
        found = {name: _hits(one, page.tree) for name, one in known.items() if name not in broken}
        working = {name: hits for name, hits in found.items() if hits}
        known |= learn(
            {name: known[name] for name in working}, Observation(page.tree, page.tree.url, working)
        )
    # The rule says where a field is now, its wrapper how it looked.
    return known | {
        name: replace(one, locators=known[name].locators) for name, one in learnt.items() if name in known
    }


def _hits(wrapper: Wrapper, tree: PageTree) -> list[int]:
    return next((hits for locator in wrapper.locators if (hits := _find(locator, tree))), [])


def _find(locator: Locator, tree: PageTree) -> list[int]:
    try:
        return locator.find(tree)
    except (ValueError, TypeError):  # an expression for a number, or that only actors read
        return []


def _is_list(rule: JSONValue) -> bool:
    return isinstance(rule, dict) and bool(rule.get("list"))


def _usual_missing(name: str, proof: Proof) -> float:
    """Return the share of healthy pages without a field, or of the stored rows if none were learnt."""
    profile = proof.expected.profile.fields.get(name)
    runs = list(profile.runs.values()) if profile is not None else []
    if total := sum(run.pages for run in runs):
        return sum(run.missing for run in runs) / total
    rows = [page.row for page in proof.pages if page.row]
    return sum(row.get(name) in _EMPTY for row in rows) / len(rows) if rows else 0.0


def _plain_row(row: Values) -> dict[str, JSONValue]:
    return {name: plain for name, value in row.items() if (plain := comparable(value)) not in _EMPTY}


def tree_of(page: Page) -> PageTree:
    """Return the elements of a page of HTML."""
    from turbohtml import parse

    return PageTree(parse(page.text, positions=False), page.final_url)


def _changed_otherwise(new: Mapping[str, JSONValue], proof: Proof) -> str:
    """Return why the new rules change a field that is not broken; "" if they do not."""
    for page, item in zip(proof.pages, proof.items, strict=True):
        for name, value in (item or {}).items():
            if name not in new and value != page.item.get(name):
                return f"the new rules also change {name!r}, which is not broken, on {page.page.final_url}"
    return ""


def _evidence(name: str, found: Found, proof: Proof) -> tuple[ProposalEvidence, ...]:
    """Return the values on the proving pages, or on those that the place was made from."""
    shown = [
        ProposalEvidence(
            url=page.page.final_url, old=_short(page.row.get(name)), new=_short((item or {}).get(name))
        )
        for page, item in zip(proof.pages, proof.items, strict=True)
    ] or [
        ProposalEvidence(url=one.url, old=_short(one.old), new=_short(one.new[0] if one.new else None))
        for one in found.evidence
    ]
    return tuple(shown[:SHOWN_PAGES])


def _short(value: JSONValue) -> JSONValue:
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 3]}..."


def _shown_rule(old: JSONValue, new: JSONValue) -> str:
    before, after = (next(iter(locators_of(rule)), None) for rule in (old, new))
    return f"{before.path if before else '-'} -> {after.path if after else '-'}"[:SHOWN_CHARS]


def _score(name: str, found: Found, proof: Proof) -> float:
    """Return the probability of a place after its proof.

    Each further value that is the stored one of its page leaves a tenth of the doubt: chance finds one of
    them, but not another one on the next page.
    """
    agreeing = {
        json.dumps(page.row[name], sort_keys=True)
        for page, item in zip(proof.pages, proof.items, strict=True)
        if item is not None and page.row.get(name) not in _EMPTY and is_same(item.get(name), page.row[name])
    }
    return _share(1 - (1 - found.place.probability) / 10 ** len(agreeing))


def _share(probability: float) -> float:
    return round(min(ALMOST_SURE, max(0.0, probability)), 4)

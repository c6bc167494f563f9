"""Fit the weights of ``agentic.core.wrappers.scoring`` on redesigned pages, and cross-validate them by site.

    python -m tests.bench.drift_fit PAGES.jsonl.xz [--folds 5] [--model NAME] [--out ROWS]

A conditional logit: of all candidates of a page, and of "it is not here", one is right. Learnt are broken
fields; with little weight, fields that are not broken, with and without their names; and all of them with the
right candidates taken out, where "it is not here" is right. Beside the pairs of ``drift.py``, up to five
other pairs of versions of each host are learnt from.

With ``--folds`` the sites are split, those of one name together whatever their country. Each part is
measured as in ``drift.py``, with weights that were fitted on the other parts: the figures of the table are of
sites that the weights do not know. People who chose the features and the limits had seen all sites. At the
end come the lines to paste: weights from all sites.

Needs numpy and rapidfuzz.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from tests.bench.drift import Row, broken_state, learnt_wrappers, measured, read_pages, selectors_of, table
from tests.bench.drift_protocol import (
    LISTS,
    MIN_DAYS,
    SAME_LAYOUT,
    LabelledPage,
    Pair,
    is_right,
    near_pages,
    overlap,
    pairs_of,
    targets,
    value_of,
)

from agentic.core.llm import LLMAdapter, llm
from agentic.core.wrappers import ranking
from agentic.core.wrappers.candidates import Candidate
from agentic.core.wrappers.ranking import PageFacts, aims_of, likely
from agentic.core.wrappers.scoring import FEATURES, UNKNOWN, Scorer, trust_of

Array = np.ndarray
FREE = frozenset({"rival", "other", "heading_tag", "tight", "position", "title", "order", "close"})
"""Features whose weights may be below zero."""

ALIKE = ("same_words", "same_list")
MAX_ALIKE = 0.3
STEPS, RATE, RIDGE = 200, 0.25, 4e-4
MAX_VERSIONS, MAX_OTHERS = 10, 5
KINDS = ("same", "cross")


@dataclass
class Query:
    """The candidates of one field on one page.

    Attributes:
        rows: Their features.
        right: Which of them are right; none if the field is not there.
        weight: How much it counts.
        has_row: Whether the stored value is known.
    """

    rows: Array
    right: Array
    weight: float
    has_row: bool


class Fitted(NamedTuple):
    """Weights of the features, the score of "it is not here", and its addition where a row is known."""

    weights: Array
    none: float
    none_known: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", type=Path)
    parser.add_argument("--folds", type=int, default=0, help="parts of the sites that are held out in turn")
    parser.add_argument("--model", help="choose with a model, too: see drift.py")
    parser.add_argument("--out", type=Path, help="write a row for each field that was held out as JSON")
    asked = parser.parse_args()
    model = llm(asked.model) if asked.model else None
    sites: dict[str, list[LabelledPage]] = defaultdict(list)
    for page in read_pages(asked.pages):
        sites[site_of(page.host)].append(page)
    queries = {site: list(_queries(pages)) for site, pages in sites.items()}
    rows: list[Row] = []
    for fold in range(asked.folds):
        held_out = {site for site in sites if zlib.crc32(site.encode()) % asked.folds == fold}
        fitted = fit([one for site in sites.keys() - held_out for one in queries[site]])
        for site in sorted(held_out):
            rows += _measured(sites[site], fitted, model)
    if rows:
        sys.stdout.write(table(rows))
    if asked.out:
        asked.out.write_text(json.dumps(rows))
    sys.stdout.write(written(fit([one for site in sorted(sites) for one in queries[site]])))


def site_of(host: str) -> str:
    """Return the longest part of the name of a host: sites of one owner in two countries are alike."""
    return max(host.split("."), key=len)


def written(fitted: Fitted) -> str:
    """Return the lines of weights as they stand in the source."""
    rows = [fitted.weights[start : start + 6] for start in range(0, len(fitted.weights), 6)]
    lines = "\n".join("    " + ", ".join(f"{weight:.2f}" for weight in row) + "," for row in rows)
    scores = f"NONE = {fitted.none:.2f}\nNONE_KNOWN = {fitted.none_known:.2f}\n"
    return f"WEIGHTS = (\n{lines}\n)  # fmt: skip\n{scores}"


def _measured(pages: Sequence[LabelledPage], fitted: Fitted, model: LLMAdapter | None) -> Iterator[Row]:
    weights, none, none_known = fitted
    with patch.multiple(ranking, WEIGHTS=tuple(map(float, weights)), NONE=none, NONE_KNOWN=none_known):
        for kind in KINDS:
            for pair in pairs_of(pages, kind):
                yield from measured(pair, kind, with_peers=False, model=model)
                pair.forget()


def _queries(pages: Sequence[LabelledPage]) -> Iterator[Query]:
    for kind in KINDS:
        for pair in pairs_of(pages, kind):
            yield from queries_of(pair, kind)
            pair.forget()
    for pair in other_pairs(pages):
        yield from queries_of(pair, "same" if pair.old.key == pair.new.key else "cross")
        pair.forget()


def other_pairs(pages: Sequence[LabelledPage]) -> list[Pair]:
    """Return the pairs of versions of one host that differ most, up to five."""
    hosts: dict[str, list[LabelledPage]] = defaultdict(list)
    for page in sorted(pages, key=lambda page: page.day):
        hosts[page.host].append(page)
    found = []
    for of_host in hosts.values():
        steps = np.linspace(0, len(of_host) - 1, min(len(of_host), MAX_VERSIONS))
        some = [of_host[round(step)] for step in steps]
        apart = [
            pair for pair in combinations(some, 2) if (pair[1].day - pair[0].day).days >= MIN_DAYS["same"]
        ]
        alike = [(overlap(old.tree(), new.tree()), at) for at, (old, new) in enumerate(apart)]
        for _, at in sorted(one for one in alike if one[0] < SAME_LAYOUT)[:MAX_OTHERS]:
            old, new = apart[at]
            found.append(Pair(old, new, near_pages(some, old, {old.key, new.key})[:1], []))
        for page in some:
            page.forget()
    return found


def queries_of(pair: Pair, kind: str) -> Iterator[Query]:
    """Yield the queries of a pair of pages."""
    tree = pair.new.tree()
    selectors = selectors_of(pair.old)
    wrappers = learnt_wrappers(pair, selectors)
    row = {name: pair.old.labels[name] for name in wrappers if kind == "same"}
    facts, aims = PageFacts(tree, row), aims_of(wrappers)
    truth = {name: gold for name in wrappers if (gold := pair.new.labels.get(name)) is not None}
    shown = {name: targets(tree, name, gold) for name, gold in truth.items()}
    states = {name: broken_state(tree, name, selectors[name], gold) for name, gold in truth.items()}
    working = {name: shown[name][0] for name, state in states.items() if state == "right" and shown[name]}
    trust = trust_of(tree, [wrapper.fingerprint for wrapper in wrappers.values()])
    for name, gold in truth.items():
        candidates = likely(facts, aims[name], row.get(name))
        if not candidates:
            continue
        anchors = {other: place for other, place in working.items() if other != name}
        scorer = Scorer(tree, aims[name], trust, anchors)
        rows = [scorer.features(one) for one in candidates]
        if name in row:
            scorer.compare(rows, candidates, row[name])
        fits = [
            bool(shown[name]) and is_right(name, value_of(name, tree, one.numbers), gold)
            for one in candidates
        ]
        near = _near(name, candidates, fits)
        yield from _variants(
            np.array(rows), np.array(fits), near, is_broken=states[name] != "right", has_row=name in row
        )


def _near(name: str, candidates: Sequence[Candidate], fits: list[bool]) -> Array:
    """Return which candidates share elements with a right one."""
    right = {number for one, is_fit in zip(candidates, fits, strict=True) if is_fit for number in one.numbers}
    return np.array([name in LISTS and not right.isdisjoint(one.numbers) for one in candidates])


def _variants(rows: Array, right: Array, near: Array, *, is_broken: bool, has_row: bool) -> Iterator[Query]:
    unknown = rows.copy()
    unknown[:, -len(UNKNOWN) :] = 0
    alike = rows[:, [FEATURES.index(name) for name in ALIKE]].max(axis=1) > MAX_ALIKE
    for known, own in ((False, unknown), (True, rows))[: 2 if has_row else 1]:
        unnamed = own.copy()
        unnamed[:, FEATURES.index("names")] = 0
        if is_broken:
            yield Query(own, right, 1.0 if right.any() else 0.3, known)
        else:
            yield Query(unnamed, right, 0.2, known)
            yield Query(own, right, 0.1, known)
        left = ~(right | near | alike)
        if right.any() and left.any():
            yield Query((own if is_broken else unnamed)[left], right[left], 0.3 if is_broken else 0.05, known)


def fit(queries: Sequence[Query]) -> Fitted:
    """Return the weights that make what is right likeliest, with little liking for large ones."""
    count = len(FEATURES)
    rows = np.vstack([np.vstack([query.rows, np.zeros((1, count))]) for query in queries])
    right = np.concatenate([np.append(query.right, not query.right.any()) for query in queries])
    sizes = np.array([len(query.right) + 1 for query in queries])
    starts = np.cumsum(sizes) - sizes
    of = np.repeat(np.arange(len(queries)), sizes)
    none = np.zeros(len(right))
    none[starts + sizes - 1] = 1
    inputs = np.hstack(
        [rows, none[:, None], (none * np.array([query.has_row for query in queries])[of])[:, None]]
    )
    importance = np.array([query.weight for query in queries])
    weights, mean, spread = np.zeros(count + 2), np.zeros(count + 2), np.zeros(count + 2)
    floor = np.array([-np.inf if name in FREE else 0.0 for name in FEATURES] + [-np.inf, -np.inf])
    for step in range(1, STEPS + 1):
        scores = inputs @ weights
        odds = np.exp(scores - np.maximum.reduceat(scores, starts)[of])
        chance = odds / np.add.reduceat(odds, starts)[of]
        chance_right = np.add.reduceat(chance * right, starts) + 1e-12
        slope = inputs.T @ ((chance - chance * right / chance_right[of]) * importance[of]) / importance.sum()
        slope[:count] += 2 * RIDGE * weights[:count]
        mean, spread = 0.9 * mean + 0.1 * slope, 0.99 * spread + 0.01 * slope**2
        rate = RATE if step < 0.6 * STEPS else 0.3 * RATE
        weights -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.99**step)) + 1e-8)
        weights = np.maximum(weights, floor)
    return Fitted(weights[:count], float(weights[count]), float(weights[count + 1]))


if __name__ == "__main__":
    main()

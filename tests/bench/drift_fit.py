"""Fit the weights of ``agentic.core.wrappers.scoring`` on a corpus of redesigned pages.

    python -m tests.bench.drift_fit PAGES.jsonl.xz [--half tune]

A conditional logit: of all candidates of a page, and of "it is not here", one is right. Learnt are broken
fields; with little weight, fields that are not broken, with and without their names; and all of them with the
right candidates taken out, where "it is not here" is right. Prints the lines to paste.

Needs numpy and rapidfuzz.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.bench.drift import broken_state, learnt_wrappers, read_pages, selectors_of
from tests.bench.drift_protocol import LISTS, Pair, half_of, is_right, pairs_of, targets, value_of

from agentic.core.wrappers.candidates import Candidate
from agentic.core.wrappers.ranking import PageFacts, aims_of, likely
from agentic.core.wrappers.scoring import FEATURES, UNKNOWN, Scorer, trust_of

Array = np.ndarray
FREE = frozenset({"rival", "other", "heading_tag", "tight", "position", "title", "order", "close"})
"""Features whose weights may be below zero."""

ALIKE = ("same_words", "same_list")
MAX_ALIKE = 0.3
STEPS, RATE, RIDGE = 200, 0.25, 4e-4


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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", type=Path)
    parser.add_argument("--half", choices=["tune", "check"])
    asked = parser.parse_args()
    pages = [page for page in read_pages(asked.pages) if not asked.half or half_of(page.host) == asked.half]
    queries: list[Query] = []
    for kind in ("same", "cross"):
        for pair in pairs_of(pages, kind):
            queries += queries_of(pair, kind)
            for page in (pair.old, pair.new, *pair.more_old):
                page.forget()
    weights, none, none_known = fit(queries)
    rows = [weights[start : start + 6] for start in range(0, len(weights), 6)]
    lines = "\n".join("    " + ", ".join(f"{weight:.2f}" for weight in row) + "," for row in rows)
    sys.stdout.write(
        f"WEIGHTS = (\n{lines}\n)  # fmt: skip\nNONE = {none:.2f}\nNONE_KNOWN = {none_known:.2f}\n"
    )


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


def fit(queries: list[Query]) -> tuple[Array, float, float]:
    """Return the weights, the score of "it is not here", and what is added to it where a row is known."""
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
    return weights[:count], float(weights[count]), float(weights[count + 1])


if __name__ == "__main__":
    main()

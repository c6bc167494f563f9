"""How often fields that were built from example rows are right on pages that were not shown.

    python -m tests.bench.drift_build PAGES.jsonl.xz [--half tune|check] [--out ROWS]

PAGES is the file of :mod:`tests.bench.drift`. Of each host the newest version of each page counts, and of
these the pages with one layout. Each page is left out once: up to three others are the examples, with the
texts that a person would copy from them, and the page's own labels say what is right. JSON-LD, from which the
labels are, is removed before anything runs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.drift import read_pages, share_of
from tests.bench.drift_protocol import (
    LISTS,
    SAME_LAYOUT,
    WORDS,
    LabelledPage,
    Value,
    coerce,
    half_of,
    is_right,
    overlap,
    targets,
    value_of,
)

from agentic.core.wrappers import BuiltField, find_examples, read_data_values
from agentic.core.wrappers.tree import PageTree

MAX_SHOWN = 3
Row = dict[str, object]
Texts = dict[str, str | list[str]]


def main() -> None:
    asked = _arguments()
    hosts: dict[str, list[LabelledPage]] = defaultdict(list)
    for page in read_pages(asked.pages):
        if not asked.half or half_of(page.host) == asked.half:
            hosts[page.host].append(page)
    rows: list[Row] = []
    for host in sorted(hosts)[: asked.limit]:
        pages = newest(hosts[host])
        rows += measured(pages)
        for page in pages:
            page.forget()
        if asked.out:
            asked.out.write_text(json.dumps(rows))
    sys.stdout.write(table(rows))


def newest(pages: Sequence[LabelledPage]) -> list[LabelledPage]:
    """Return the newest version of each page of a host, as far as they have the layout of the newest one."""
    latest: dict[str, LabelledPage] = {}
    for page in sorted(pages, key=lambda page: (page.day, page.key)):
        latest[page.key] = page
    found = sorted(latest.values(), key=lambda page: (page.day, page.key), reverse=True)
    return [page for page in found if overlap(page.tree(), found[0].tree()) >= SAME_LAYOUT]


def measured(pages: Sequence[LabelledPage]) -> list[Row]:
    """Return a row for each field of each page that is left out, as far as its label is visible there."""
    rows: list[Row] = []
    for left_out in pages:
        shown = [page for page in pages if page is not left_out][:MAX_SHOWN]
        examples = [copied(page) for page in shown]
        if not any(examples):
            continue
        start = time.process_time()
        built = find_examples([page.tree() for page in shown], examples)
        spent = 1000 * (time.process_time() - start) / max(1, len(built))
        for name, field in built.items():
            gold = left_out.labels.get(name)
            if gold is None or not targets(left_out.tree(), name, gold):
                continue
            value = None if field is None else _read(field, left_out.tree())
            rows.append(
                {
                    "host": left_out.host,
                    "half": half_of(left_out.host),
                    "field": name,
                    "examples": sum(name in row for row in examples),
                    "outcome": "nothing"
                    if value is None
                    else "right"
                    if is_right(name, value, gold)
                    else "wrong",
                    "kinds": 0 if field is None else len(field.locators),
                    "ms": spent,
                    "locators": [] if field is None else [one.path for one in field.locators],
                }
            )
    return rows


def copied(page: LabelledPage) -> Texts:
    """Return the texts of a page that a person would copy for its fields."""
    tree, found = page.tree(), Texts()
    for name in WORDS:
        gold = page.labels.get(name)
        numbers = targets(tree, name, gold) if gold is not None else []
        if numbers:
            found[name] = [tree.text(one) for one in numbers] if name in LISTS else tree.text(numbers[0])
    return found


def _read(field: BuiltField, tree: PageTree) -> Value:
    """Return the value of the first place that finds something, on the page or in its data."""
    data = {one.locator: one.values for one in read_data_values(tree.document, tree.url)}
    for locator in field.locators:
        if hits := locator.find(tree):
            return value_of(field.name, tree, hits)
        if locator in data:
            return coerce(field.name, data[locator][0])
    return None


def table(rows: Sequence[Row]) -> str:
    lines = [
        "| examples | fields | hosts | right | wrong | nothing | two places or more | CPU ms a field |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for title, some in _groups(rows):
        if some:
            ms = sorted(float(str(row["ms"])) for row in some)
            counts = [sum(row["outcome"] == word for row in some) for word in ("right", "wrong", "nothing")]
            shares = [f"{100 * count / len(some):.0f}" for count in counts]
            shares[0] = share_of(some, lambda row: row["outcome"] == "right")
            double = f"{100 * sum(int(str(row['kinds'])) > 1 for row in some) / len(some):.0f}"
            hosts = len({row["host"] for row in some})
            cells = [title, str(len(some)), str(hosts), *shares, double, f"{ms[len(ms) // 2]:.0f}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _groups(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for half in ("tune", "check"):
        mine = [row for row in rows if row["half"] == half]
        yield f"{half}: all", mine
        for count in range(1, MAX_SHOWN + 1):
            yield f"{half}: {count}", [row for row in mine if row["examples"] == count]
        for name in WORDS:
            yield f"{half}: {name}", [row for row in mine if row["field"] == name]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    given = os.environ.get("DRIFT_PAGES")
    parser.add_argument(
        "pages", type=Path, nargs="?" if given else None, default=Path(given) if given else None
    )
    parser.add_argument("--half", choices=["tune", "check"])
    parser.add_argument("--limit", type=int, help="hosts")
    parser.add_argument("--out", type=Path, help="write a row for each field as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()

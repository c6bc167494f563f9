"""How often a repair finds the right place again after a redesign, and how often a wrong one.

    python -m tests.bench.drift PAGES.jsonl.xz [--kind same|cross] [--peers] [--model NAME] [--out ROWS]

PAGES holds one page a line: ``host``, ``key``, ``date``, ``labels``, ``html``. They are the versions of the
test pages in the public history of recipe-scrapers, with the labels of their own JSON-LD. The pages are
their owners' and never part of this repository. The variable ``DRIFT_PAGES`` may name the file. Needs
rapidfuzz; ``--peers`` needs scrapling and autoscraper.

With ``--model`` a model is asked about the fields that a repair is not sure of, one question for a page, as
``agentic pipelines repair --model`` asks it.

The weights of the product were fitted on all sites of these pages, so our own figures flatter them:
``tests.bench.drift_fit --folds 5`` measures sites that were held out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import lzma
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.bench import drift_peers
from tests.bench.drift_protocol import (
    LISTS,
    SAME_LAYOUT,
    WORDS,
    Atom,
    Developer,
    LabelledPage,
    Pair,
    Value,
    coerce,
    css_of,
    is_right,
    overlap,
    pairs_of,
    plain,
    targets,
    value_of,
)

from agentic.core.llm import LLMAdapter, llm
from agentic.core.pipeline.intent_inference.conversing import Conversation
from agentic.core.pipeline.repairs.choosing import choose_places
from agentic.core.wrappers import (
    Abstained,
    Found,
    Locator,
    LocatorKind,
    Observation,
    PlaceChoice,
    StoredPage,
    Wrapper,
    learn,
    repair,
)
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import Kind

KINDS = {"yields": Kind.NUMBER, "rating": Kind.NUMBER, "total_time": Kind.DURATION}
ROUNDS = 2_000
RUNS = ("row", "row+", "nothing", "several")
OUTCOMES = ("right", "wrong", "abstain")
Row = dict[str, object]
Written = tuple[Atom | None, Atom]


def main() -> None:
    asked = _arguments()
    pages = read_pages(asked.pages)
    model = llm(asked.model) if asked.model else None
    rows: list[Row] = []
    for kind in [asked.kind] if asked.kind else ["same", "cross"]:
        for pair in pairs_of(pages, kind)[: asked.limit]:
            rows += measured(pair, kind, with_peers=asked.peers, model=model)
            pair.forget()
        if asked.out:
            asked.out.write_text(json.dumps(rows))
    sys.stdout.write(table(rows))


def read_pages(path: Path) -> list[LabelledPage]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        found = map(json.loads, lines)
        return [LabelledPage(**page) for page in found if page["host"]]


def measured(pair: Pair, kind: str, *, with_peers: bool, model: LLMAdapter | None = None) -> list[Row]:
    """Return a row for each field whose selector was right on the old page."""
    new = pair.new.tree()
    selectors = selectors_of(pair.old)
    wrappers = learnt_wrappers(pair, selectors)
    truth = {name: gold for name in wrappers if (gold := pair.new.labels.get(name)) is not None}
    states = {name: broken_state(new, name, selectors[name], gold) for name, gold in truth.items()}
    rows = {name: _first_row(pair, kind, wrappers[name], states[name]) for name in truth}
    broken = [name for name, state in states.items() if state != "right"]
    row = {name: pair.old.labels[name] for name in wrappers} if kind == "same" else None
    more = [page for page in pair.more_new if overlap(page.tree(), new) >= SAME_LAYOUT]
    for run, stored in _runs(new, row, more).items() if broken else ():
        start = time.process_time()
        results = repair(wrappers, stored, broken)
        spent = 1000 * (time.process_time() - start) / len(broken)
        for name, result in results.items():
            rows[name] |= {f"{run} ms": spent, **_outcomes(run, name, new, result, truth[name], more)}
            if row is not None and isinstance(result, Found):
                rows[name][f"{run} stored"] = _is_right_choice(name, new, result.place, pair.old.labels[name])
        for name, result in _chosen(model, wrappers, stored, results).items():
            rows[name][f"{run} asked"] = _outcome(name, new, result, truth[name])
    if len(broken) < len(truth):
        forced = repair(wrappers, [StoredPage(new, row)], sorted(wrappers))
        for name in set(truth) - set(broken):
            rows[name]["forced"] = _forced(name, new, forced[name], truth[name])
    for name in broken:
        if rows[name]["visible"]:
            rows[name]["removed"] = _without(pair, name, wrappers, broken, row)
            if with_peers:
                rows[name] |= drift_peers.outcomes(pair, name, css_of(*selectors[name]))
    return list(rows.values())


def _chosen(
    model: LLMAdapter | None,
    wrappers: Mapping[str, Wrapper],
    pages: Sequence[StoredPage],
    results: Mapping[str, Found | Abstained],
) -> dict[str, Found | Abstained]:
    if model is None:
        return {}
    return asyncio.run(choose_places(Conversation(model), wrappers, pages, results))


def _first_row(pair: Pair, kind: str, wrapper: Wrapper, state: str) -> Row:
    name, new = wrapper.name, pair.new.tree()
    visible = bool(targets(new, name, pair.new.labels[name]))
    row: Row = {"host": pair.old.host, "kind": kind, "field": name, "state": state, "visible": visible}
    if kind == "same":
        value = value_of(name, new, wrapper.locators[0].find(new))
        row["still stored"] = is_right(name, value, pair.old.labels[name])
    return row


def _runs(
    new: PageTree, row: Mapping[str, Value] | None, more: Sequence[LabelledPage]
) -> dict[str, list[StoredPage]]:
    """Return the pages that each repair is given: with the stored row or not, alone or with others."""
    others = [StoredPage(page.tree()) for page in more]
    runs = {"nothing": [StoredPage(new)], "several": [StoredPage(new), *others]}
    if row is not None:
        runs |= {"row": [StoredPage(new, row)], "row+": [StoredPage(new, row), *others]}
    return runs if others else {run: pages for run, pages in runs.items() if run in ("nothing", "row")}


def _outcomes(
    run: str, name: str, new: PageTree, result: Found | Abstained, gold: Value, more: Sequence[LabelledPage]
) -> Row:
    choices = [_is_right_choice(name, new, choice, gold) for choice in result.choices]
    found: Row = {
        f"{run} choice": "right" if any(choices) else "abstain",
        f"{run} first": bool(choices and choices[0]),
        f"{run} p": result.choices[0].probability if result.choices else 0.0,
        f"{run} text": result.choices[0].texts[0][:80] if result.choices else "",
        run: _outcome(name, new, result, gold),
    }
    if isinstance(result, Found):
        found[f"{run} held"] = _held(name, result.locators, more)
    return found


def _outcome(name: str, new: PageTree, result: Found | Abstained, gold: Value) -> str:
    if isinstance(result, Abstained):
        return "abstain"
    return "right" if _is_right_choice(name, new, result.place, gold) else "wrong"


def _forced(name: str, new: PageTree, result: Found | Abstained, gold: Value) -> str:
    """Return what a repair did to a field whose selector was still right."""
    if isinstance(result, Abstained):
        return "kept"
    return "moved" if _is_right_choice(name, new, result.place, gold) else "wrong"


def selectors_of(page: LabelledPage) -> dict[str, Written]:
    tree, found = page.tree(), {}
    developer = Developer(tree)
    for name in WORDS:
        gold = page.labels.get(name)
        numbers = targets(tree, name, gold) if gold is not None else []
        selector = developer.write(name, numbers) if numbers else None
        if selector is not None:
            found[name] = selector
    return found


def learnt_wrappers(pair: Pair, selectors: Mapping[str, Written]) -> dict[str, Wrapper]:
    wrappers = {
        name: Wrapper(
            name,
            KINDS.get(name, Kind.TEXT),
            name in LISTS,
            tuple(WORDS[name].split()),
            (Locator(LocatorKind.CSS, css_of(*selector)),),
        )
        for name, selector in selectors.items()
    }
    for page in (*pair.more_old, pair.old):
        tree = page.tree()
        if page is not pair.old and overlap(tree, pair.old.tree()) < SAME_LAYOUT:
            continue
        found = {
            name: targets(tree, name, page.labels[name])
            for name in wrappers
            if page.labels.get(name) is not None
        }
        values = {name: page.labels[name] for name in found}
        wrappers = learn(
            wrappers, Observation(tree, page.key, {n: there for n, there in found.items() if there}, values)
        )
    return wrappers


def broken_state(tree: PageTree, name: str, selector: Written, gold: Value) -> str:
    hits = Locator(LocatorKind.CSS, css_of(*selector)).find(tree)
    value = value_of(name, tree, hits)
    return "right" if is_right(name, value, gold) else "nothing" if value is None else "wrong"


def _is_right_choice(name: str, tree: PageTree, choice: PlaceChoice, gold: Value) -> bool:
    value = coerce(name, choice.texts[0]) if choice.locator else value_of(name, tree, choice.numbers)
    return is_right(name, value, gold)


def _held(name: str, locators: Sequence[Locator], more: Sequence[LabelledPage]) -> list[str]:
    """Return what the locators, tried in their order, give on other pages where the label is visible."""
    found = []
    for page in more:
        gold = page.labels.get(name)
        if gold is None or not targets(page.tree(), name, gold):
            continue
        hits = next((hits for locator in locators if (hits := locator.find(page.tree()))), [])
        value = value_of(name, page.tree(), hits)
        found.append("right" if is_right(name, value, gold) else "nothing" if value is None else "wrong")
    return found


def _without(
    pair: Pair,
    name: str,
    wrappers: Mapping[str, Wrapper],
    broken: Sequence[str],
    row: Mapping[str, Value] | None,
) -> str:
    """Return what a repair does on a page from which all elements with the value were taken."""
    page = LabelledPage(pair.new.host, pair.new.key, pair.new.date, pair.new.labels, pair.new.html)
    tree, gold = page.tree(), pair.new.labels[name]
    for element in [tree.elements[number] for number in _carriers(tree, name, gold)]:
        element.set_text("")
    left = PageTree(tree.document, tree.url)
    result = repair(wrappers, [StoredPage(left, row)], broken)[name]
    if isinstance(result, Abstained):
        return "abstain"
    # What a page still holds as data is not gone.
    return "data" if _is_right_choice(name, left, result.place, gold) else "kept"


def _carriers(tree: PageTree, name: str, gold: Value) -> list[int]:
    if name in LISTS:
        first = targets(tree, name, gold)
        wanted = {plain(text) for text in (gold if isinstance(gold, list) else ())} | {
            plain(tree.text(number)) for number in first
        }
        return [n for n in range(len(tree)) if 0 < tree.length(n) < 5000 and plain(tree.text(n)) in wanted]
    limit = 3000 if name == "description" else 90
    short = [n for n in range(len(tree)) if 0 < tree.length(n) <= limit and tree.text(n)]
    return [n for n in short if (v := coerce(name, tree.text(n))) is not None and is_right(name, v, gold)]


# The table.


def table(rows: Sequence[Row]) -> str:
    lines = []
    for kind in ("same", "cross"):
        mine = [row for row in rows if row["kind"] == kind]
        if mine:
            lines += _section(f"{kind} URL", mine)
    return "\n".join(lines) + "\n"


def _section(title: str, rows: Sequence[Row]) -> list[str]:
    broken = [row for row in rows if row["state"] != "right"]
    seen = [row for row in broken if row["visible"]]
    hosts = len({row["host"] for row in seen})
    lines = [
        f"\n## {title}: {len(rows)} fields, {len(broken)} broken, {len(seen)} visible on {hosts} hosts\n",
        "| run | fields | right | wrong | abstains | first right | right with one choice | CPU ms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for run in (*RUNS, "scrapling", "autoscraper"):
        lines += [_line(run, mine) for mine in [[row for row in seen if run in row]] if mine]
    lines.append("")
    for run in RUNS:
        if asked := [str(row[f"{run} asked"]) for row in seen if f"{run} asked" in row]:
            lines += [f"{run}, with a model: {_counts(asked, OUTCOMES)}"]
    for run in ("row", "row+"):
        lines += [f"{run}, without disputed labels: {_undisputed(run, seen)}"]
    for run in RUNS:
        gone = [str(row[run]) for row in broken if run in row and not row["visible"]]
        held = [
            outcome for row in seen if row.get(run) == "right" for outcome in _listed(row.get(f"{run} held"))
        ]
        lines.append(f"{run}: label not visible: {_counts(gone, OUTCOMES)}; on other pages: {_counts(held)}")
    forced = [str(row["forced"]) for row in rows if "forced" in row]
    words = {word: forced.count(word) for word in ("kept", "moved", "wrong")}
    lines.append(f"fields that are not broken, repair forced: {words}")
    taken = [row["removed"] != "kept" for row in seen if "removed" in row]
    return [*lines, f"abstains where the value was taken from the page: {_of(taken)}"]


def _undisputed(run: str, rows: Sequence[Row]) -> str:
    """Return the outcomes of fields whose label is not in dispute.

    It is where the page shows what was stored, at its old place or at the new one, and its JSON-LD says
    something else.
    """

    def is_disputed(row: Row) -> bool:
        return row[run] != "right" and bool(row.get("still stored") or row.get(f"{run} stored"))

    clear = [row for row in rows if run in row and not is_disputed(row)]
    return _counts([str(row[run]) for row in clear], OUTCOMES)


def _listed(value: object) -> list[str]:
    return value if isinstance(value, list) else []


def _of(outcomes: Sequence[bool]) -> str:
    return f"{100 * sum(outcomes) / len(outcomes):.0f} % of {len(outcomes)}" if outcomes else "-"


def _counts(outcomes: Sequence[str], words: Sequence[str] = ("right", "nothing", "wrong")) -> str:
    return ", ".join(f"{word} {_of([one == word for one in outcomes])}" for word in words)


def _line(run: str, rows: Sequence[Row]) -> str:
    def is_helped(row: Row) -> bool:
        return row[run] == "right" or (row[run] == "abstain" and row.get(f"{run} choice") == "right")

    spent = sorted(float(str(row[f"{run} ms"])) for row in rows if f"{run} ms" in row)
    return " | ".join(
        [
            f"| {run}",
            str(len(rows)),
            *(share_of(rows, partial(_is_outcome, run, word)) for word in OUTCOMES),
            share_of(rows, lambda r: bool(r.get(f"{run} first"))),
            share_of(rows, is_helped),
            f"{spent[len(spent) // 2]:.0f} |" if spent else "- |",
        ]
    )


def _is_outcome(run: str, word: str, row: Row) -> bool:
    return row[run] == word


def share_of(rows: Sequence[Row], is_one: Callable[[Row], bool]) -> str:
    """Return a share in per cent with its 90 % interval, drawn by host."""
    if not rows:
        return "-"
    hosts: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        hosts[str(row["host"])].append(is_one(row))
    groups = list(hosts.values())
    draw = random.Random(1)
    shares = []
    for _ in range(ROUNDS):
        drawn = draw.choices(groups, k=len(groups))
        shares.append(sum(map(sum, drawn)) / sum(map(len, drawn)))
    shares.sort()
    share = 100 * sum(map(sum, groups)) / len(rows)
    return f"{share:.0f} [{100 * shares[ROUNDS // 20]:.0f}-{100 * shares[-ROUNDS // 20]:.0f}]"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    given = os.environ.get("DRIFT_PAGES")
    parser.add_argument(
        "pages", type=Path, nargs="?" if given else None, default=Path(given) if given else None
    )
    parser.add_argument("--kind", choices=["same", "cross"])
    parser.add_argument("--peers", action="store_true", help="measure Scrapling and AutoScraper, too")
    parser.add_argument("--model", help="choose with a model, too, such as ollama:llama3.2")
    parser.add_argument("--limit", type=int, help="pairs of each kind")
    parser.add_argument("--out", type=Path, help="write a row for each field as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()

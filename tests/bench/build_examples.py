"""How often fields of pipelines that are built from example records are right on records that were not shown.

    python -m tests.bench.build_examples [SITE ...]

Sites of many shapes are served on loopback. Each is built from one, two and three of its records: rows of a
list, or pages with their address, as of a CSV file. Then the actors of the pipeline read all its pages.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.integration.executors.example_lists import SITES
from tests.integration.executors.example_sites import ExampleSite, Value, serve

from agentic.core.errors import AgenticError
from agentic.core.pipeline import IntentSpec
from agentic.core.types import JSONValue
from agentic.core.wrappers import Locator, LocatorKind
from agentic.core.wrappers.addresses import link_of
from agentic.executors.building.examples_file import ExampleRow
from agentic.executors.building.looks import Looks, open_looks
from agentic.executors.building.plans import BuildRequest, Plan, plan_by_examples
from agentic.executors.building.tables import read_page
from agentic.executors.testing.sites import Site

MAX_LIST_PAGES = 8
SHOWN = (1, 2, 3)


@dataclass(frozen=True)
class Outcome:
    """A build, and its values on records that were not shown.

    Attributes:
        plan: None if nothing could be built.
        right: Values that are as on the site.
        wrong: The others: record, field, the value, and that of the site.
        count: Of the values.
        row_count: Rows that the pipeline reads from the list.
        fault: Why nothing was built.
        cpu_s: For the build.
    """

    plan: Plan | None
    right: int
    wrong: Sequence[str]
    count: int
    row_count: int = 0
    fault: str = ""
    cpu_s: float = 0.0


async def measured(server: Site, name: str, count: int) -> Outcome:
    """Return the outcome of a build from the first few records that a site shows.

    Args:
        server: Serves the site.
        name: Of the site.
        count: Of the records.
    """
    site = SITES[name]
    root = f"{server.url}/{name}"
    shown = site.shown[:count]
    left = [number for number in range(len(site.records)) if number not in shown]
    total = sum(len(site.records[number]) for number in left)
    start = time.process_time()
    try:
        plan = await built(server, name, count)
    except AgenticError as exc:
        return Outcome(None, 0, (), total, fault=str(exc))
    spent = time.process_time() - start
    found = await _read(server, site, root, plan)
    wrong = [
        f"{number} {field}: {found.get(number, {}).get(field)!r} is not {value!r}"
        for number in left
        for field, value in site.records[number].items()
        if not _is_same(found.get(number, {}).get(field), _absolute(value, root))
    ]
    row_count = sum(1 for number in found if number >= 0)
    return Outcome(plan, total - len(wrong), wrong, total, row_count, cpu_s=spent)


async def built(server: Site, name: str, count: int) -> Plan:
    """Return the plan from the first few records that a site shows.

    Raises:
        AgenticError: Nothing could be built from them.
    """
    site = SITES[name]
    asked = _request(server, site, f"{server.url}/{name}", site.shown[:count])
    async with open_looks((server.host,)) as looks:
        return await plan_by_examples(asked, looks)


def _request(server: Site, site: ExampleSite, root: str, shown: Sequence[int]) -> BuildRequest:
    rows = [
        ExampleRow(
            f"{root}{site.urls[number]}" if site.urls else f"{root}/",
            {field: _written(value, root) for field, value in site.records[number].items()},
        )
        for number in shown
    ]
    is_alone = "/" not in site.pages
    url = rows[0].url if is_alone else f"{root}/"
    return BuildRequest(url, rows, hosts=(server.host,))


async def _read(
    server: Site, site: ExampleSite, root: str, plan: Plan
) -> Mapping[int, Mapping[str, JSONValue]]:
    """Return the record that the pipeline reads for each record of the site, by its place."""
    async with open_looks((server.host,)) as looks:
        if site.urls:
            pages = [(await read_page(plan.intent, f"{root}{url}", looks))[:1] for url in site.urls]
            return {number: items[0] for number, items in enumerate(pages) if items}
    rows = await _rows(server, plan.intent)
    keys = {str(_absolute(one[site.key], root)): number for number, one in enumerate(site.records)}
    found: dict[int, Mapping[str, JSONValue]] = {}
    for place, row in enumerate(rows):
        found.setdefault(keys.get(str(row.get(site.key)), -1 - place), row)
    return found


async def _rows(server: Site, intent: IntentSpec) -> list[dict[str, JSONValue]]:
    """Return the rows of a list and of the pages that its links lead to, as a crawl follows them."""
    rows: list[dict[str, JSONValue]] = []
    queue, seen = [str(intent.url)], set[str]()
    async with open_looks((server.host,)) as looks:
        while queue and len(seen) < MAX_LIST_PAGES:
            url = queue.pop(0)
            if url not in seen:
                seen.add(url)
                rows += await read_page(intent, url, looks)
                queue += await _further(intent, url, looks)
    return rows


async def _further(intent: IntentSpec, url: str, looks: Looks) -> list[str]:
    tree = await looks.tree(url)
    links = Locator(LocatorKind.CSS, intent.next).find(tree) if intent.next else []
    return [found for number in links if (found := link_of(tree, number)) is not None]


def _written(value: Value, root: str) -> str | list[str]:
    """Return a value as a person writes it into a cell."""
    full = _absolute(value, root)
    return full if isinstance(full, list) else "" if full is None else str(full)


def _absolute(value: Value, root: str) -> Value:
    return value.replace("{}", root) if isinstance(value, str) else value


def _is_same(found: JSONValue, value: Value) -> bool:
    if value is None:
        return found in (None, "", [])
    if isinstance(value, float):
        return (
            isinstance(found, str | int | float) and str(found) not in ("", "None") and float(found) == value
        )
    if isinstance(value, str) and isinstance(found, str):
        return " ".join(found.split()) == value or (found.startswith(f"{value}T") and value[4:5] == "-")
    return str(found) == str(value)


def table(outcomes: Mapping[tuple[str, int], Outcome]) -> str:
    """Return the shares of right values by the number of example records."""
    lines = [
        "| examples | sites | fields | right | wrong | two places or more | CPU ms a build |",
        "|---" + "|---:" * 6 + "|",
    ]
    for count in SHOWN:
        some = [one for (_, shown), one in outcomes.items() if shown == count]
        values = sum(one.count for one in some)
        right = sum(one.right for one in some)
        silent = sum(len(one.wrong) for one in some)
        places = [there for one in some if one.plan is not None for there in one.plan.locators.values()]
        double = sum(len(there) > 1 for there in places) / max(1, len(places))
        times = sorted(one.cpu_s for one in some)
        cells = [count, len(some), values, f"{100 * right / values:.1f}", f"{100 * silent / values:.1f}"]
        lines.append(
            f"| {' | '.join(map(str, cells))} | {100 * double:.0f} | {1000 * times[len(times) // 2]:.0f} |"
        )
    return "\n".join(lines)


async def _main() -> None:
    names = sys.argv[1:] or [*SITES]
    outcomes = {}
    with Site() as server:
        for name in names:
            serve(server, name)
            for count in SHOWN:
                one = outcomes[name, count] = await measured(server, name, count)
                if one.wrong or one.fault:
                    sys.stdout.write(f"{name} {count}: {one.fault or '; '.join(one.wrong[:3])}\n")
    sys.stdout.write(f"{table(outcomes)}\n")


if __name__ == "__main__":
    asyncio.run(_main())

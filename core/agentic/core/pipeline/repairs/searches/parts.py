"""The search for repairs of all parts of a pipeline besides its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from agentic.core.pipeline.errors import shown_place
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.pipeline.repairs.proposals import Repair, RepairAbstention, SpecChange
from agentic.core.pipeline.repairs.searches.answers import find_json_repairs
from agentic.core.pipeline.repairs.searches.crawls import DEAD, dead_starts, find_crawl_repairs
from agentic.core.pipeline.repairs.searches.lists import find_list_repairs
from agentic.core.pipeline.repairs.searches.logins import find_login_repairs
from agentic.core.pipeline.repairs.searches.site import PageSource, SeenPage, SiteView
from agentic.core.pipeline.repairs.searches.starts import find_start
from agentic.core.pipeline.repairs.spec_parts import parts_of
from agentic.core.types import JSONValue

MAX_STARTS = 5
"""Start pages of a crawl that are looked at."""


async def find_repairs(
    spec: JSONValue,
    rows: Sequence[Mapping[str, JSONValue]],
    source: PageSource,
    *,
    name_of: Callable[[str], str] = str,
    seen: Sequence[SeenPage] = (),
) -> list[Repair]:
    """Return repairs of start pages, lists, paging, JSON endpoints and login forms; none of parts that work.

    Args:
        spec: The data that a person wrote.
        rows: Of an earlier run, with their ``url``.
        source: Fetches pages; at most 40 are asked for.
        name_of: Returns the name of the actor that an alias stands for.
        seen: Answers that are known.
    """
    parts, site = parts_of(spec, name_of), SiteView(source, rows, seen)
    repairs: list[Repair] = []
    for login in parts.logins:
        repairs += await find_login_repairs(site, login)
    for part in parts.lists:
        repairs += await find_list_repairs(site, part)
    for part in parts.json:
        repairs += await find_json_repairs(site, part)
    dead: set[ValuePath] = set()
    for crawl in parts.crawls:
        found = await find_crawl_repairs(site, crawl)
        repairs += found
        if not found:
            dead |= {start.place for start in await dead_starts(site, crawl)}
    read_by_steps = [part.start for part in (*parts.lists, *parts.json)]
    others = [start for start in parts.starts if start not in read_by_steps and start.readers]
    for start in others[:MAX_STARTS]:
        repair, _ = await find_start(site, start, DEAD if start.place in dead else "")
        if repair is not None:
            repairs.append(repair)
    return _without_conflicts(repairs)


def _without_conflicts(repairs: Sequence[Repair]) -> list[Repair]:
    """Return the repairs with each change once; of two that differ at one place, the first."""
    found: list[Repair] = []
    changes: dict[ValuePath, SpecChange] = {}
    for repair in repairs:
        if isinstance(repair, RepairAbstention):
            found += [repair] if repair not in found else []
            continue
        clashes = [one.place for one in repair.changes if changes.get(one.place, one) != one]
        if clashes:
            reason = f"another step needs another value at {shown_place(clashes[0])}; set it by hand"
            found.append(RepairAbstention(kind=repair.kind, subject=repair.subject, reason=reason))
        elif any(one.place not in changes for one in repair.changes):
            found.append(repair)
            changes |= {one.place: one for one in repair.changes}
    return found

"""The search for repairs of all parts of a pipeline besides its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from agentic.core.pipeline.repairs.proposals import Repair
from agentic.core.pipeline.repairs.searches.answers import find_json_repairs
from agentic.core.pipeline.repairs.searches.crawls import find_crawl_repairs
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
    for crawl in parts.crawls:
        repairs += await find_crawl_repairs(site, crawl)
    read_by_steps = [part.start for part in (*parts.lists, *parts.json)]
    others = [start for start in parts.starts if start not in read_by_steps and start.readers]
    for start in others[:MAX_STARTS]:
        repair, _ = await find_start(site, start)
        if repair is not None:
            repairs.append(repair)
    return _each_once(repairs)


def _each_once(repairs: Sequence[Repair]) -> list[Repair]:
    """Return the repairs without repetitions: two steps may read one start page."""
    found: list[Repair] = []
    for repair in repairs:
        if repair not in found:
            found.append(repair)
    return found

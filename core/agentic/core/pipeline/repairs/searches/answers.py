"""The search for the items of a JSON endpoint, their fields, and its next page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast
from urllib.parse import urljoin

from agentic.core.http.urls import Param, origin_of, with_params
from agentic.core.pipeline.repairs.json_keys import (
    LINK,
    FoundItems,
    broken_fields,
    data_in_scripts,
    find_fields,
    find_items,
    find_next_path,
    found_at,
    is_gone,
    items_at,
)
from agentic.core.pipeline.repairs.paths import PathChoice
from agentic.core.pipeline.repairs.proposals import (
    ProposalEvidence,
    Repair,
    RepairAbstention,
    RepairProposal,
    SpecChange,
)
from agentic.core.pipeline.repairs.searches.site import SeenPage, SiteView
from agentic.core.pipeline.repairs.searches.starts import find_start
from agentic.core.pipeline.repairs.spec_parts import Config, StartPart, StepPart, single_places
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue

SHOWN = 3
_MORE_THAN_A_TEXT = ("fields", "alternatives", "script")


async def find_json_repairs(site: SiteView, part: StepPart) -> list[Repair]:
    """Return the repairs of a step that reads JSON, and of its address; none if all works."""
    start = _asked(part)
    if start is None:
        return []
    repair, _ = await find_start(site, start)
    if repair is not None:
        return [repair]
    seen = await site.see(start.url)
    script = part.config.get("script")
    data = _scripts(seen).get(str(script)) if script is not None else seen.data
    if data is None:
        return _without_data(site, part, seen, script)
    path = cast(str | None, part.config.get("items"))
    known, other = found_at(path, data, site.stored), find_items(data, site.stored)
    if known is None and isinstance(other, str):
        reason = f"{path!r} matches nothing on {safe_url(seen.final_url)}, and {other}"
        return [RepairAbstention(kind="json", subject=part.subject, reason=reason)]
    if known is not None and not known.pairs and isinstance(other, FoundItems):
        count = len(other.pairs)
        reason = f"the items at {path!r} show no stored row, and the list at {other.path!r} shows {count}"
        return [RepairAbstention(kind="json", subject=part.subject, reason=reason)]
    found = cast(FoundItems, known or other)
    others = await _next_items(site, part, seen, data, found.path)
    repairs = _repairs(part, seen, found, others)
    return [*repairs, *await _paging(site, part, seen, data, found)]


def _asked(part: StepPart) -> StartPart | None:
    """Return the address that the step asks for; None if its request has a body, headers or a session."""
    if any(part.config.get(key) for key in ("json", "headers", "session")):
        return None
    params = part.config.get("params")
    if not params or part.config.get("url") is None:
        return part.start
    if not isinstance(params, dict) or "${" in str(params):
        return None
    url = with_params(part.start.url, cast(Mapping[str, Param], params))
    return replace(part.start, url=url)


def _repairs(
    part: StepPart, seen: SeenPage, found: FoundItems, others: Sequence[Sequence[JSONValue]]
) -> list[Repair]:
    rules = part.config.get("fields")
    paths = single_places(rules, "json", _MORE_THAN_A_TEXT) | (
        {LINK: str(part.config["link"])} if part.config.get("link") else {}
    )
    has_moved = found.path != part.config.get("items")
    broken = broken_fields(paths, found.items, found.pairs)
    choices = find_fields(found, {name: paths[name] for name in broken}, others, seen.final_url)
    changes = [_change(part, ("items",), part.config.get("items"), found.path)] if has_moved else []
    evidence, repairs = list[ProposalEvidence](), list[Repair]()
    scores, rivals = [found.score], [found.runner_up]
    for name, choice in choices.items():
        if isinstance(choice, str):
            subject = f"{part.subject}.{name}"
            repairs.append(RepairAbstention(kind="json", subject=subject, reason=choice))
            continue
        changes.append(_field_change(part, name, choice))
        scores.append(choice.score)
        rivals.append(choice.runner_up)
        evidence += [
            ProposalEvidence(url=safe_url(seen.final_url), old={name: old}, new={choice.path: new})
            for _, old, new in choice.seen[:1]
        ]
    if has_moved and not evidence:
        evidence += [
            ProposalEvidence(url=safe_url(seen.final_url), old=row.get(LINK), new=f"{found.path}[{at}]")
            for at, row in found.pairs[:SHOWN]
        ]
    if not changes:
        return repairs
    if has_moved and rules is None and not _has_keys(found):
        reason = f"the items are at {found.path!r}, but their keys are others; name them with `fields`"
        return [RepairAbstention(kind="json", subject=part.subject, reason=reason, score=found.score)]
    proposal = RepairProposal(
        kind="json",
        subject=part.subject,
        changes=tuple(changes),
        score=min(scores),
        runner_up=max(rivals),
        note=f"{len(found.pairs)} stored rows are in the answer"
        + ("; the next page has the new keys, too" if others else ""),
        evidence=tuple(evidence),
    )
    return [proposal, *repairs]


async def _paging(
    site: SiteView, part: StepPart, seen: SeenPage, data: JSONValue, found: FoundItems
) -> list[Repair]:
    """Return the repair of the path of the next page, if its keys are gone."""
    paging = part.config.get("paging")
    for key in ("next", "cursor") if isinstance(paging, dict) else ():
        path = cast(Config, paging).get(key)
        if not isinstance(path, str) or not is_gone(path, data):
            continue
        for new, value in find_next_path(data, is_cursor=key == "cursor"):
            param = str(cast(Config, paging).get("param", ""))
            url = (
                with_params(seen.final_url, {param: str(value)})
                if key == "cursor"
                else urljoin(seen.final_url, str(value))
            )
            if origin_of(url) != origin_of(seen.final_url):
                continue
            after = await site.see(url)
            items = items_at(found.path, after.data) if after.data is not None else []
            if items and not any(item in found.items for item in items):
                change = SpecChange(place=(*part.place, "paging", key), old=path, new=new)
                evidence = (ProposalEvidence(url=safe_url(seen.final_url), new={new: value}),)
                note = f"{new!r} leads to a page with {len(items)} other items"
                return [
                    RepairProposal(
                        kind="paging", subject=part.subject, changes=(change,), score=1.0, note=note,
                        evidence=evidence,
                    )
                ]  # fmt: skip
        reason = f"{path!r} is gone from the answer, and no other key leads to a next page"
        return [RepairAbstention(kind="paging", subject=part.subject, reason=reason)]
    return []


async def _next_items(
    site: SiteView, part: StepPart, seen: SeenPage, data: JSONValue, path: str | None
) -> list[Sequence[JSONValue]]:
    """Return the items of the next page, to check paths on them; nothing where the next page is unknown."""
    paging = part.config.get("paging")
    if not isinstance(paging, dict) or part.config.get("script") is not None:
        return []
    url: str | None = None
    if isinstance(name := paging.get("page"), str):
        first = paging.get("first", 1)
        url = with_params(seen.final_url, {name: int(first) + 1 if isinstance(first, int) else 2})
    elif paging.get("link_header") and seen.page is not None:
        url = seen.page.next_url
    elif isinstance(place := paging.get("next"), str):
        address = next(iter(items_at(place, data)), None)
        url = urljoin(seen.final_url, address) if isinstance(address, str) else None
    if url is None or origin_of(url) != origin_of(seen.final_url):
        return []
    items = items_at(path, (await site.see(url)).data)
    return [items] if items else []


def _without_data(site: SiteView, part: StepPart, seen: SeenPage, script: JSONValue) -> list[Repair]:
    if seen.status is None or seen.page is None:
        return []
    if script is None:
        kind = seen.page.content_type or "no content type"
        reason = f"{safe_url(seen.final_url)} answers with {kind}, not with JSON"
        return [RepairAbstention(kind="json", subject=part.subject, reason=reason)]
    fit = [
        name for name, data in _scripts(seen).items() if isinstance(find_items(data, site.stored), FoundItems)
    ]
    where = f"; the script {fit[0]!r} has the stored rows" if len(fit) == 1 else ""
    reason = f"no script of {safe_url(seen.final_url)} has the id {script!r} and JSON{where}"
    return [RepairAbstention(kind="json", subject=part.subject, reason=reason, choices=tuple(fit))]


def _scripts(seen: SeenPage) -> dict[str, JSONValue]:
    if seen.tree is None:
        return {}
    nodes = seen.tree.document.select("script[id]")
    return data_in_scripts({node.attr("id") or "": node.text for node in nodes})


def _has_keys(found: FoundItems) -> bool:
    """Return whether the items have the names of the stored fields as keys."""
    shares = []
    for at, row in found.pairs:
        item = found.items[at]
        names = [name for name in row if name != LINK]
        shares.append(sum(isinstance(item, dict) and name in item for name in names) / max(1, len(names)))
    return bool(shares) and min(shares) >= 0.5


def _field_change(part: StepPart, name: str, choice: PathChoice) -> SpecChange:
    if name == LINK and part.config.get("link") is not None:
        return _change(part, ("link",), part.config["link"], choice.path)
    old = cast(Mapping[str, JSONValue], part.config["fields"])[name]
    new: JSONValue = {**old, "json": choice.path} if isinstance(old, dict) else choice.path
    return _change(part, ("fields", name), old, new)


def _change(part: StepPart, keys: tuple[str, ...], old: JSONValue, new: JSONValue) -> SpecChange:
    return SpecChange(place=(*part.place, *keys), old=old, new=new)

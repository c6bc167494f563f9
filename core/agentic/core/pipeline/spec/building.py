"""From an intent to a pipeline by rules: the same intent always gives the same pipeline."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from agentic.core.actors import Actor
from agentic.core.pipeline.spec.intents import IntentKind, IntentSpec, ItemFilter
from agentic.core.pipeline.spec.loader import read_spec
from agentic.core.pipeline.spec.spec import PipelineSpec
from agentic.core.types import JSONValue

StepData = dict[str, JSONValue]

_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "`${}"}
MAX_LIST_PAGES = 1_000
MAX_DEPTH = 10_000
_MODES = {"never": "http", "auto": "auto", "always": "browser"}


class RuleBuilder:
    """Implements :class:`~agentic.core.pipeline.PipelineBuilder` without a model.

    Args:
        actors: Name or alias -> actor; the result is checked against them.
    """

    def __init__(self, actors: Mapping[str, type[Actor]]) -> None:
        self._actors = actors

    async def build(self, intent: IntentSpec) -> PipelineSpec:
        """Return the pipeline. Raises the errors of :meth:`PipelineBuilder.build`."""
        return read_spec(built(intent), self._actors)


def built(intent: IntentSpec) -> dict[str, JSONValue]:
    """Return the pipeline for an intent as data, as a person would write it."""
    http: dict[str, JSONValue] = {
        "requests_per_second": intent.requests_per_second,
        "allow_private_hosts": list(intent.allow_private_hosts) or None,
    }
    spec: dict[str, JSONValue] = {
        "schema_version": 1,
        "name": intent.name,
        "description": intent.goal,
        "item_key": intent.key,
        "http": _given(http),
        "inputs": {"url": {"default": intent.url, "description": "where to start"}},
        "error_handling": _rules(intent),
        "steps": [*_login(intent), *_STEPS[intent.kind](intent)],
    }
    return {name: value for name, value in spec.items() if value not in ("", {}, None)}


def _rules(intent: IntentSpec) -> dict[str, JSONValue]:
    rules: dict[str, JSONValue] = {}
    if intent.fallback:
        for refusal in ("http_403", "blocked"):
            rules[refusal] = {"retry_with_actor": intent.fallback}
    if intent.login:
        rules["auth_expired"] = {"rerun": "login"}
    return rules


def _login(intent: IntentSpec) -> list[JSONValue]:
    if not intent.login:
        return []
    return [{"id": "login", "actor": "authenticate", "config": {"platform": intent.login}}]


def _page(intent: IntentSpec) -> list[JSONValue]:
    items: JSONValue = f"${{[item]{_condition(intent)}}}" if intent.filters else ["${item}"]
    return [_fetch(intent, "${inputs.url}"), *_read(intent), _aggregate(intent, items=items)]


def _rows(intent: IntentSpec) -> list[JSONValue]:
    config: StepData = {**_items(intent), "fields": intent.fields}
    if intent.next is None or intent.filters or intent.limit:  # a crawl counts pages, and keeps each item
        kept = _aggregate(intent, **_given({"limit": intent.limit}))
        return [_fetch(intent, "${inputs.url}"), _pages(intent, config), kept]
    further: StepData = {"item_selector": intent.next, "next_selector": intent.next}
    return [
        {
            **_crawl(intent, further),
            "detail": {"match": ["*"], "actor": "extract_list", "config": config},
        }
    ]


def _list(intent: IntentSpec) -> list[JSONValue]:
    if intent.details and not (intent.filters or intent.limit):
        links: StepData = {**_items(intent), **_given({"next_selector": intent.next})}
        if intent.next is not None:  # there may be several links to further pages
            links["item_selector"] = f"{intent.items}, {intent.next}"
        detail: StepData = {"match": list(intent.details), "config": {"schema": intent.fields}}
        return [{**_crawl(intent, links), "detail": detail}]
    return [_fetch(intent, "${inputs.url}"), _pages(intent, _items(intent)), *_each(intent)]


def _pages(intent: IntentSpec, config: StepData) -> StepData:
    """Return the step that reads a list and its further pages."""
    enough = None if intent.filters else intent.limit  # each page has an item or more
    pages = min(enough or MAX_LIST_PAGES, MAX_LIST_PAGES)
    more: StepData = {"next_selector": intent.next, "pages": pages} if intent.next else {}
    return {"actor": "extract_list", "config": {**config, **more, "required": True}}


def _items(intent: IntentSpec) -> StepData:
    reaches = True if intent.reaches_next else None
    return _given({"item_selector": intent.items, "link_selector": intent.link, "reaches_next": reaches})


def _crawl(intent: IntentSpec, links: StepData) -> StepData:
    """Return a crawl of a list and of its further pages."""
    return _given(
        {
            "type": "crawl",
            "start": "${inputs.url}",
            "fetch": {"actor": "fetch", "config": {"mode": _MODES[intent.browser]}},
            "links": {"actor": "extract_list", "config": links},
            "store": {"pages": False},
            "max_pages": intent.limit,
            "max_depth": MAX_DEPTH,  # each page of a list may name only the next one
        }
    )


def _search(intent: IntentSpec) -> list[JSONValue]:
    found: StepData = {"actor": "search", "config": {"keywords": list(intent.keywords)}}
    listed: StepData = {"actor": "extract_list", "config": {"item_selector": intent.items}}
    return [_fetch(intent, "${inputs.url}"), found, listed, *_each(intent)]


def _site(intent: IntentSpec) -> list[JSONValue]:
    crawl: StepData = {
        "type": "crawl",
        "start": "${inputs.url}",
        "sitemaps": True,
        "max_pages": intent.limit,
        "fetch": {"actor": "fetch", "config": {"mode": _MODES[intent.browser]}},
    }
    if intent.fields:
        match: list[JSONValue] = list(intent.details) or ["*"]
        crawl["detail"] = {"match": match, "config": {"schema": intent.fields}}
    return [_given(crawl)]


def _feed(intent: IntentSpec) -> list[JSONValue]:
    config = _given({"url": "${inputs.url}", "max_items": intent.limit})
    return [{"actor": "feed", "config": config}, _aggregate(intent)]


def _each(intent: IntentSpec) -> list[JSONValue]:
    details: list[JSONValue] = [_fetch(intent, None), *_read(intent)]
    loop: StepData = {
        "type": "loop",
        "source": "list_item_urls",
        "loop_steps": details,
        "max_items": None if intent.filters else intent.limit,
    }
    return [_given(loop), _aggregate(intent)]


def _fetch(intent: IntentSpec, url: str | None) -> StepData:
    return {"actor": "fetch", "config": _given({"url": url, "mode": _MODES[intent.browser]})}


def _read(intent: IntentSpec) -> list[JSONValue]:
    if not intent.fields:
        return [{"actor": "article"}]
    return [{"actor": "extract_detail", "config": {"schema": intent.fields}}]


def _aggregate(intent: IntentSpec, **more: JSONValue) -> StepData:
    if intent.filters:  # the limit counts the items that meet them
        more = {"items": f"${{items{_condition(intent)}}}", **more, **_given({"limit": intent.limit})}
    return {"actor": "aggregate", "config": {"key": intent.key, **more}}


def _condition(intent: IntentSpec) -> str:
    """Return the filters of an intent as the condition of a list in JMESPath."""
    parts = [part for one in intent.filters for part in _comparisons(one, intent.fields.get(one.field))]
    return f"[?{' && '.join(parts)}]"


def _comparisons(one: ItemFilter, rule: JSONValue) -> list[str]:
    field = one.field if one.field.isascii() and one.field.isidentifier() else _literal(one.field)
    is_price = isinstance(rule, dict) and rule.get("type") == "price"
    amount = f"{field}.amount" if is_price else field
    currency = [f"{field}.currency == `{_literal(one.currency)}`"] if one.currency and is_price else []
    return [f"{amount} {one.op} `{_literal(one.value)}`", *currency]


def _literal(value: JSONValue) -> str:
    """Return a value as JSON without characters that end a reference or an expression."""
    return json.dumps(value).translate(_ESCAPES)


def _given(values: Mapping[str, JSONValue]) -> StepData:
    return {name: value for name, value in values.items() if value is not None}


_STEPS: Mapping[IntentKind, Callable[[IntentSpec], list[JSONValue]]] = {
    "page": _page,
    "rows": _rows,
    "list": _list,
    "search": _search,
    "site": _site,
    "feed": _feed,
}

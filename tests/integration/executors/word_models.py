"""Models for tests of pipelines that are built with words: they read the numbered places as a model would."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from agentic.core.llm import ModelRequest
from agentic.core.types import JSONValue

Place = Mapping[str, Any]
Fits = Callable[[Place], bool]

ASKED: list[ModelRequest] = []
"""The requests of a test."""


class PlaceReader:
    """Wants some data, and picks the first place that a condition accepts.

    Args:
        wanted: The answer to the words.
        picks: Field -> whether a place is it.
    """

    def __init__(self, wanted: JSONValue, picks: Mapping[str, Fits]) -> None:
        self._wanted = wanted
        self._picks = picks

    def __call__(self, request: ModelRequest) -> str:
        ASKED.append(request)
        text = request.messages[-1].text
        if not text.startswith('{"wanted":'):
            return json.dumps(self._wanted)
        asked = json.loads(text)
        fields = asked["wanted"]["fields"]
        record, places = 0, dict.fromkeys(fields, 0)
        for one in asked["page"]["records"]:
            found = {name: _first(one["places"], self._picks[name]) for name in fields}
            if sum(map(bool, found.values())) > sum(map(bool, places.values())):
                record, places = one["record"], found
        return json.dumps({"record": record, "places": places})


def named(*names: str) -> Fits:
    """Return whether a place has one of these names or labels."""
    return lambda place: place["name"] in names or place.get("label", "").strip(":").lower() in names


def _first(places: list[Place], fits: Fits) -> int:
    return next((place["place"] for place in places if fits(place)), 0)


def _field(name: str, kind: str = "string", **more: JSONValue) -> JSONValue:
    return {"name": name, "type": kind, **more}


def _lie(request: ModelRequest) -> str:
    """Answer with a selector that the page asks for, and with numbers that were not offered."""
    ASKED.append(request)
    text = request.messages[-1].text
    if len(ASKED) == 1:
        return json.dumps({"record": "product", "fields": [_field("title"), _field("price", "price")]})
    return json.dumps({"record": 1, "places": {"title": 'a[href*="evil"]', "price": 4711}}) + text[:0]


PRODUCT: JSONValue = {
    "record": "lamp",
    "fields": [_field("title"), _field("price", "price")],
    "filters": [
        {"words": "under 500 euros", "field": "price", "op": "<", "value": 500, "currency": "EUR"},
        {"words": "in green"},
    ],
}
TITLE = named("product", "title", "article")
MODELS: Mapping[str, Callable[[ModelRequest], str]] = {
    "lamps": PlaceReader(PRODUCT, {"title": TITLE, "price": named("price")}),
    "rated": PlaceReader(
        {"record": "lamp", "fields": [_field("title"), _field("rating", "number")], "limit": 4},
        {"title": named("product", "title"), "rating": named("rating")},
    ),
    "articles": PlaceReader(
        {"record": "article", "fields": [_field("headline"), _field("published", "date")]},
        {"headline": named("article"), "published": named("date")},
    ),
    "rows": PlaceReader(
        {"record": "country", "fields": [_field("country"), _field("inhabitants", "integer")]},
        {"country": named("country"), "inhabitants": named("population")},
    ),
    "nothing": PlaceReader({"record": "horse", "fields": [_field("colour")]}, {"colour": named("colour")}),
    "liar": _lie,
}

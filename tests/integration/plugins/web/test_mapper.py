"""Items to rows, in a real database: on SQLite and on PostgreSQL."""

from __future__ import annotations

import pytest

from agentic.core.pipeline import ATTEMPTS
from agentic.core.types import JSONValue
from agentic.executors.testing import MapperContract, MapperSamples

pytestmark = pytest.mark.integration

LAMP: dict[str, JSONValue] = {"url": "http://shop.example/1", "name": "Lamp", "price": 5.5}
TRIES: JSONValue = [{"actor": "fetch", "failure_class": "timeout"}, {"actor": "fetch"}]


def result(*items: dict[str, JSONValue]) -> dict[str, object]:
    """Return what a pipeline gives that read these items."""
    empty: dict[str, object] = {"failures": {}, "failed_items": [], "retried": [], "skipped": []}
    return {"pipeline": "shop", "item_key": "url", "items": items, "counts": {"items": len(items)}, **empty}


@pytest.mark.requirement("PL21", "PL28", "PL30")
class TestMapper(MapperContract):
    platform = "web"
    samples = MapperSamples(
        results=result({**LAMP, ATTEMPTS: TRIES}, {"url": "http://shop.example/2"}),
        row_count=2,
        shorter=result(LAMP, {"url": "http://shop.example/2"}),
        with_a_bad_one=result(LAMP, {"name": "has no key"}, {"url": "http://shop.example/2"}),
        with_no_json=result({**LAMP, "price": float("nan")}, {"url": "http://shop.example/2"}),
    )

"""Which actors may be called again unasked, and after what."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue


@pytest.mark.parametrize(
    ("actor", "config"),
    [("fetch", {}), ("fetch", {"method": "GET"}), ("search", {}), ("feed", {}), ("extract_detail", {})],
)
def test_what_reads_may_be_called_again_after_anything(actor: str, config: Mapping[str, JSONValue]) -> None:
    assert get_registry().actors[actor].repeatable_after(config) is None


@pytest.mark.parametrize(
    ("actor", "config"),
    [
        ("webhook", {}),
        ("authenticate", {}),
        ("fetch", {"method": "POST"}),
        ("fetch", {"method": "${inputs.method}"}),
        ("fetch", {"mode": "browser", "steps": [{"click": "button"}]}),
        ("firecrawl_crawl", {}),
        ("firecrawl_map", {}),
        ("firecrawl_scrape", {}),
        ("firecrawl_search", {}),
    ],
)
def test_what_may_have_had_an_effect_is_not_called_again_after_a_timeout(
    actor: str, config: Mapping[str, JSONValue]
) -> None:
    safe = get_registry().actors[actor].repeatable_after(config)
    assert safe is not None
    assert "rate_limited" in safe
    assert not safe & {"timeout", "http_5xx"}

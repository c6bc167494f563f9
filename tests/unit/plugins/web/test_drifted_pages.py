"""Pages of the shop after each synthetic redesign, read with the old selectors and watched as in a crawl."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import get_args

import pytest
from pydantic import TypeAdapter

from agentic.core.actors import Page
from agentic.core.pipeline.drift.crawls import CrawlWatch, WatchedPage
from agentic.core.pipeline.drift.incidents import Cause, Incident
from agentic.core.pipeline.drift.looking import PageWatchers, UsualLook
from agentic.core.pipeline.drift.profiles import Expectation, KindProfile, learnt
from agentic.core.pipeline.spec.spec import DetailRules
from agentic.core.types import JSONValue, RunId
from agentic.fakes.redesign.operators import WALLS, Change
from agentic.fakes.redesign.orders import Redesign, RedesignedSite, Redesigns
from agentic.fakes.shop.site import Shop
from agentic.plugins.web.reading.fields import Schema, read_fields, source_of

PAGES = 40
RULE = DetailRules(match=("*/product/*",))
SCHEMA = TypeAdapter(Schema).validate_python(
    {
        "title": "h1.title",
        "price": {"selector": ".price", "type": "number"},
        "sku": ".sku",
        "text": ".description",
    }
)
Item = Mapping[str, JSONValue]


@lru_cache
def crawled(*changes: Change) -> tuple[tuple[Page, Item], ...]:
    """Return all pages of the shop after some changes, with the items that the old selectors find."""
    redesigns = Redesigns()
    redesigns.add(Redesign(path="/shop/*", changes=changes))
    site = RedesignedSite(Shop(products=PAGES), "/shop", redesigns)
    found = []
    for number in range(1, PAGES + 1):
        url = f"http://shop.example/product/{number}"
        answer = site.page(f"/product/{number}", "", "")
        assert answer is not None
        page = Page(
            url=url,
            final_url=url,
            status=200,
            content_type="text/html",
            text=answer.body.decode(),
            content_hash=str(number),
            fetched_at=datetime.now(UTC),
        )
        found.append((page, read_fields(source_of(page), SCHEMA)))
    return tuple(found)


def watched(
    pages: tuple[tuple[Page, Item], ...], profile: KindProfile
) -> tuple[int, Incident | None, CrawlWatch]:
    """Return the number of pages until an incident, and the incident."""
    watcher, watch = PageWatchers([RULE]).of(RunId("r")), CrawlWatch()
    (kind,) = watcher.kinds
    expected = Expectation(profile)
    watcher.looks = {kind.key: UsualLook(markers=profile.markers, needed=expected.needed)}
    for count, (page, item) in enumerate(pages, 1):
        sight = watcher.look(page, 0, 0, [item])
        assert sight is not None
        one = WatchedPage(page.content_hash, page.url, page.content_hash, sight, [item])
        if found := watch.note([one], {kind.key: expected}):
            return count, found[0], watch
    return len(pages), None, watch


@pytest.fixture(scope="module")
def profile() -> KindProfile:
    known = KindProfile()
    for run in ("r1", "r2", "r3"):
        _, incident, watch = watched(crawled(), known)
        assert incident is None
        (summary,) = watch.summaries().values()
        known = learnt(known, run, summary)
    return known


@pytest.mark.parametrize("change", sorted(set(get_args(Change)) - WALLS))
def test_exactly_the_fields_that_a_redesign_breaks_alarm_within_ten_pages(
    profile: KindProfile, change: Change
) -> None:
    before, after = crawled(), crawled(change)
    broken = {
        name
        for name in SCHEMA
        if all(old[name] != new[name] for (_, old), (_, new) in zip(before, after, strict=True))
    }
    count, incident, _ = watched(after, profile)
    named = {fault.field for fault in incident.faults} if incident else set()
    # Decoys of a price and a number look like a price and a number; the other fields show them.
    assert named == (broken - {"price", "sku"} if change == "add_decoys" else broken)
    if incident is not None:
        assert count <= 10
        assert incident.cause is Cause.LAYOUT


@pytest.mark.parametrize(
    ("change", "cause"),
    [("consent_wall", Cause.CONSENT), ("login_wall", Cause.LOGIN), ("soft_404", Cause.GONE)],
)
def test_a_wall_is_no_drift_of_any_field(profile: KindProfile, change: Change, cause: Cause) -> None:
    count, incident, _ = watched(crawled(change), profile)
    assert incident is not None
    assert count <= 10
    assert incident.cause is cause
    assert not incident.faults

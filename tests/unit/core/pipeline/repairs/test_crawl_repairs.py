"""The pages that a crawl fetches for a repair, and the rules that it reads them with."""

from __future__ import annotations

from datetime import UTC, datetime

from agentic.core.actors import Page
from agentic.core.pipeline.crawl.holding import are_all_repaired
from agentic.core.pipeline.crawl.repairing import (
    MAX_TAGS,
    MOST_FETCHED,
    MOST_TRIED,
    can_be_searched,
    pages_to_try,
    with_rules,
)
from agentic.core.pipeline.drift.incidents import Cause, Incident
from agentic.core.pipeline.repairs.requests import ProposalState, RepairRequest, StoredRepair
from agentic.core.pipeline.spec.spec import CrawlStep
from agentic.core.types import JSONValue


def addresses(name: str, count: int) -> list[str]:
    return [f"http://shop.example/{name}/{number}" for number in range(count)]


def page(text: str) -> Page:
    return Page(
        url="http://shop.example/",
        final_url="http://shop.example/",
        status=200,
        content_type="text/html",
        text=text,
        content_hash="0",
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_pages_with_rows_come_first_and_the_suspects_of_a_site_that_is_down_are_not_all_tried() -> None:
    held, suspects = addresses("held", 200), addresses("suspect", 200)
    whole: dict[str, JSONValue] = {"title": "Lamp", "price": 1}
    rows = {held[0]: {**whole, "price": None}, **dict.fromkeys(held[100:120], whole)}
    tried = pages_to_try(held, rows, whole.keys(), suspects)
    assert tried[:MOST_FETCHED] == [*held[100:111], held[0]]
    assert tried[MOST_FETCHED : MOST_FETCHED + 7] == [*held[111:117], suspects[0]]
    assert len(tried) == MOST_TRIED


def test_repairs_are_for_all_held_pages_only_if_no_wall_holds_others() -> None:
    def stored(*kinds: str) -> list[StoredRepair]:
        requests = [RepairRequest(kind=kind) for kind in kinds]
        return [StoredRepair(id="a", state=ProposalState.PROPOSED, request=one) for one in requests]

    layout = Incident(kind="k", label="*/lamp/*", cause=Cause.LAYOUT)
    wall = Incident(kind="w", label="*/shop/*", cause=Cause.CONSENT)
    assert are_all_repaired([layout], stored("k"))
    assert not are_all_repaired([layout, wall], stored("k"))
    assert not are_all_repaired([wall], stored())


def test_pages_with_more_elements_than_memory_has_room_for_are_left_out() -> None:
    assert can_be_searched(page("<b>" * MAX_TAGS))
    assert not can_be_searched(page("<b>" * (MAX_TAGS + 1)))


def test_new_rules_leave_the_values_of_references_in_the_others() -> None:
    schema: JSONValue = {"title": "h1", "price": {"selector": ".price-eur", "type": "number"}}
    resolved = CrawlStep.model_validate(
        {
            "type": "crawl",
            "start": "http://shop.example/",
            "detail": {"match": ["*"], "config": {"schema": schema}},
        }
    )
    changed = with_rules(resolved, 0, {"title": "h2"})
    assert changed.details[0].config["schema"] == {
        "title": "h2",
        "price": {"selector": ".price-eur", "type": "number"},
    }
    assert resolved.details[0].config["schema"] == schema

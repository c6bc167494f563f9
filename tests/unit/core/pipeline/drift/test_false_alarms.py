"""The false-alarm rate and the delay of the tests, simulated with rates that differ from run to run."""

from __future__ import annotations

from random import Random

import pytest
from tests.unit.core.pipeline.drift.healthy import optional, page, pages, profile_of, spread, watched

from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.types import JSONValue

FIELDS = 8


def test_healthy_runs_alarm_at_most_once_in_a_thousand_field_runs() -> None:
    rnd, runs, alarms = Random(5), 0, 0
    for rate in (0.0, 0.02, 0.1, 0.3, 0.5):
        for earlier in (1, 3, 5):
            for _ in range(4):
                profile = profile_of(
                    pages(optional(share, rnd) for _ in range(60))
                    for share in [spread(rate, rnd) for _ in range(earlier)]
                )
                for share in [spread(rate, rnd) for _ in range(3)]:
                    incident = watched(pages(optional(share, rnd) for _ in range(60)), profile).incident
                    runs += FIELDS
                    alarms += len(incident.faults) if incident else 0
    assert runs >= 1_400
    assert alarms <= runs / 1_000


@pytest.mark.parametrize(("rate", "earlier", "count"), [(0.0, 1, 20), (0.0, 5, 60), (0.02, 5, 100)])
def test_a_field_that_breaks_on_all_pages_alarms_within_ten_of_them(
    rate: float, earlier: int, count: int
) -> None:
    rnd = Random(7)
    for _ in range(10):
        profile = profile_of(pages(optional(rate, rnd, 2) for _ in range(count)) for _ in range(earlier))
        good = [optional(rate, rnd, 2) for _ in range(15)]
        broken = [{**optional(rate, rnd, 2), "f0": None} for _ in range(10)]
        seen = watched(pages([*good, *broken]), profile)
        assert seen.incident is not None
        assert seen.pages is not None
        assert seen.pages > 15
        assert seen.incident.cause is Cause.LAYOUT
        assert [fault.field for fault in seen.incident.faults] == ["f0"]


@pytest.mark.parametrize(("rate", "most"), [(0.3, 12), (0.5, 16)])
def test_an_optional_field_alarms_early_once_the_template_of_the_pages_is_new(rate: float, most: int) -> None:
    rnd, with_template, without = Random(3), [], []
    for _ in range(5):
        profile = profile_of(pages(optional(rate, rnd, 1) for _ in range(100)) for _ in range(4))
        broken = [{**optional(rate, rnd, 1), "f0": None} for _ in range(80)]
        run = [page(number, [item], is_known=False) for number, item in enumerate(broken)]
        with_template.append(watched(run, profile).pages or 999)
        without.append(watched(pages(broken), profile).pages or 999)
    assert sorted(with_template)[2] <= most
    assert sorted(without)[2] > sorted(with_template)[2]


def test_pages_without_an_optional_field_may_come_in_sequence_if_they_always_do() -> None:
    rnd = Random(2)

    def run() -> list[dict[str, JSONValue]]:
        """One category of the shop is never rated: 25 pages in sequence."""
        return [
            {"title": f"t{rnd.random()}", "rating": rnd.random() if number < 50 else None}
            for number in range(75)
        ]

    profile = profile_of(pages(run()) for _ in range(3))
    assert watched(pages(run()), profile).incident is None


def test_the_evidence_is_the_same_if_it_is_stored_after_every_page() -> None:
    rnd = Random(4)
    profile = profile_of(pages(optional(0.1, rnd, 3) for _ in range(60)) for _ in range(3))
    broken = [{**optional(0.1, rnd, 3), "f1": None, "f2": "9"} for _ in range(30)]
    kept, stored = watched(pages(broken), profile), watched(pages(broken), profile, is_stored=True)
    assert kept.pages == stored.pages
    assert kept.incident == stored.incident

"""The false-alarm rate and the delay of the tests, simulated with rates that differ from run to run."""

from __future__ import annotations

from math import exp, lgamma, log, sqrt
from operator import mul
from random import Random

import pytest
from tests.unit.core.pipeline.drift.healthy import optional, page, pages, profile_of, spread, watched

from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.pipeline.drift.sequential import SPREAD
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


@pytest.mark.parametrize(("learnt", "missing", "count"), [(20, 0, 7), (20, 1, 10), (30, 2, 10)])
def test_a_field_that_few_learnt_pages_lack_alarms_within_ten_pages(
    learnt: int, missing: int, count: int
) -> None:
    known = [{"title": f"t{number}", "price": None if number < missing else 1.0} for number in range(learnt)]
    broken: list[dict[str, JSONValue]] = [{"title": f"t{number}", "price": None} for number in range(20)]
    assert watched(pages(broken), profile_of([pages(known)])).pages == count
    assert chance_of_ten_missing(learnt, missing) <= 1 / 1_000


def test_no_test_is_as_fast_for_a_field_that_two_of_twenty_learnt_pages_lack() -> None:
    assert chance_of_ten_missing(20, 2) >= 1.5 / 1_000


def chance_of_ten_missing(learnt: int, missing: int, cells: int = 100) -> float:
    """Return how likely a healthy run lacks a field on ten pages in sequence, after one run with this count.

    Every test that alarms within ten missing pages alarms in such a run. The rate has Jeffreys' prior, and
    the rates of the two runs differ as in ``spread``.
    """
    rates = [(cell + 0.5) / cells for cell in range(cells)]
    chances = [chance_of_sequence(rate) for rate in rates]
    weight = total = 0.0
    for mean in rates:
        a, b = mean / SPREAD, (1 - mean) / SPREAD
        likely = exp(log_beta(a + missing, b + learnt - missing) - log_beta(a, b)) / sqrt(mean * (1 - mean))
        densities = [exp((a - 1) * log(rate) + (b - 1) * log(1 - rate) - log_beta(a, b)) for rate in rates]
        weight += likely
        total += likely * sum(map(mul, densities, chances)) / cells
    return total / weight


def chance_of_sequence(rate: float, length: int = 10, count: int = 60) -> float:
    """Return how likely ``length`` of ``count`` pages in sequence lack a field that each lacks at a rate."""
    none = [1.0] * (count + 1)  # after so many pages
    for number in range(length, count + 1):
        before = 1.0 if number == length else none[number - length - 1] * (1 - rate)
        none[number] = none[number - 1] - before * rate**length
    return 1 - none[count]


def log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


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

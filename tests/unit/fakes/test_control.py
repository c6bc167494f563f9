from __future__ import annotations

import pytest
from pydantic import ValidationError

from agentic.fakes.control import Control, Fault


def next_status(control: Control, path: str) -> int | None:
    with control.request(path, "") as fault:
        return fault.status if fault else None


def test_a_fault_happens_as_often_as_it_says() -> None:
    control = Control()
    control.add(Fault(path="/a", status=503, times=2))
    assert [next_status(control, "/a") for _ in range(3)] == [503, 503, None]


def test_a_fault_without_a_number_of_times_stays() -> None:
    control = Control()
    control.add(Fault(path="/a", status=500, times=None))
    assert [next_status(control, "/a") for _ in range(5)] == [500] * 5


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/a", "/a", True),
        ("/a", "/a/b", False),
        ("/a/*", "/a/b/c", True),
        ("*.json", "/v0/item/1.json", True),
        ("/item/?", "/item/1", True),
        ("/item/[12]", "/item/3", False),
        ("/A", "/a", False),
    ],
)
def test_a_fault_happens_to_the_paths_that_fit(pattern: str, path: str, fits: bool) -> None:
    control = Control()
    control.add(Fault(path=pattern, status=500))
    assert (next_status(control, path) == 500) == fits


def test_of_several_faults_that_fit_the_oldest_happens() -> None:
    control = Control()
    control.add(Fault(path="/a", status=500))
    control.add(Fault(path="*", status=429))
    assert [next_status(control, "/a") for _ in range(3)] == [500, 429, None]


def test_requests_are_counted_by_path_and_query() -> None:
    control = Control()
    for path, query in (("/a", ""), ("/a", "page=2"), ("/a", "")):
        with control.request(path, query):
            pass
    assert control.stats() == {
        "requests": {"/a": 2, "/a?page=2": 1},
        "total": 3,
        "peak_in_flight": 1,
        "faults_waiting": 0,
        "credits": 0,
    }


def test_the_highest_number_of_requests_at_once_is_kept() -> None:
    control = Control()
    with control.request("/a", ""), control.request("/b", ""):
        pass
    with control.request("/c", ""):
        assert control.stats()["peak_in_flight"] == 2


def test_a_reset_forgets_faults_and_counts() -> None:
    control = Control()
    control.add(Fault(path="/a", status=500, times=None))
    next_status(control, "/a")
    control.firecrawl.charge(3)
    control.reset()
    assert control.stats() == Control().stats()
    assert control.stats()["total"] == control.stats()["faults_waiting"] == control.stats()["credits"] == 0
    assert next_status(control, "/a") is None


@pytest.mark.requirement("PL39")
@pytest.mark.parametrize(
    "fields",
    [
        {"path": "shop"},
        {"path": "/", "status": 200},
        {"path": "/", "status": "bad"},
        {"path": "/", "status": 500, "times": 0},
        {"path": "/", "delay_s": -1},
        {"path": "/", "status": 429, "retry_after_s": 1.5},
        {"path": "/", "retry_after_s": 1},
        {"path": "/", "truncate": -1},
        {"path": "/", "status": 301},
        {"path": "/", "location": "/a"},
        {"path": "/", "status": 500, "location": "/a"},
        {"path": "/", "status": 500, "repeat": 3},
    ],
)
def test_a_fault_that_makes_no_sense_is_refused_by_the_name_of_its_field(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=[*fields][-1]):
        Fault.model_validate(fields)


def test_a_fault_that_does_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="give delay_s or one of status, truncate"):
        Fault(path="/")

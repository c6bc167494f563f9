from __future__ import annotations

import pytest
from pydantic import ValidationError

from agentic.fakes.clock import ClockOrder, FakeClock
from agentic.fakes.faults import Fault


class Machine:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_the_time_is_that_of_the_machine_until_it_is_moved_on() -> None:
    machine = Machine()
    clock = FakeClock(machine)
    assert clock.now() == 1_000
    clock.advance(60)
    machine.now += 5
    assert clock.now() == 1_065
    assert clock.moment().isoformat() == "1970-01-01T00:17:45+00:00"


def test_a_time_that_stands_still_is_moved_by_hand_alone_and_goes_on_from_there() -> None:
    machine = Machine()
    clock = FakeClock(machine)
    clock.freeze()
    machine.now += 100
    assert clock.now() == 1_000
    clock.advance(10)
    clock.thaw()
    assert clock.now() == 1_010
    machine.now += 1
    assert clock.now() == 1_011


def test_a_reset_shows_the_time_of_the_machine_again() -> None:
    clock = FakeClock(Machine())
    clock.change(ClockOrder(freeze=True, advance_s=7))
    assert clock.now() == 1_007
    clock.reset()
    assert clock.now() == 1_000


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ({"bad_json": "cut", "close": "before"}, "bad_json and close cannot be combined"),
        ({"status": 500, "html_instead_of_json": 403}, "status and html_instead_of_json cannot be combined"),
        ({}, "no fault is set"),
        ({"status": 429, "retry_after_date": True}, "retry_after_date needs retry_after_s"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(fault: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        Fault.model_validate({"path": "/a", **fault})

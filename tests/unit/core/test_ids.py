"""Ids that nobody thought of."""

from __future__ import annotations

import re

from agentic.core.ids import PERIOD_S, TIME_DIGITS, new_id, new_ids

MAY = 1_777_593_600.0


def test_an_id_is_32_lower_case_hex_digits() -> None:
    assert all(re.fullmatch("[0-9a-f]{32}", new_id()) for _ in range(100))


def test_ids_are_in_the_order_of_their_periods() -> None:
    made = [new_id(MAY + number * PERIOD_S) for number in range(20)]
    assert made == sorted(made)


def test_ids_of_one_period_begin_alike_and_go_on_by_chance() -> None:
    begin = MAY // PERIOD_S * PERIOD_S
    made = {new_id(begin + number / 4) for number in range(4 * PERIOD_S)}
    assert len({one[:TIME_DIGITS] for one in made}) == 1
    assert len({one[TIME_DIGITS:] for one in made}) == 4 * PERIOD_S


def test_periods_begin_again_after_years() -> None:
    assert new_id(0.0)[:TIME_DIGITS] == new_id(PERIOD_S * 16.0**TIME_DIGITS)[:TIME_DIGITS] == "00000"


def test_ids_of_rows_that_are_written_together_are_neighbours() -> None:
    ids = new_ids(300)
    assert ids == sorted(set(ids))
    assert len(ids) == 300
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in ids)
    assert len({one[:24] for one in ids}) == 1
    assert new_ids(1)[0][5:24] != ids[0][5:24]

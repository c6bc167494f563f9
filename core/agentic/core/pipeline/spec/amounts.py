"""Limits that are a number, or a share of a total."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, WithJsonSchema

_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,6})?) ?%", re.ASCII)


def _amount(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and (found := _SHARE.fullmatch(value.strip())) and float(found[1]) <= 100:
        return f"{found[1]}%"
    raise ValueError(f"{value!r} is neither a number such as 10 nor a share such as 5%")


Amount: TypeAlias = Annotated[
    int | str,
    BeforeValidator(_amount),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": r"^[0-9]{1,3}(\.[0-9]{1,6})? ?%$"},
            ]
        }
    ),
]
"""``10``, or ``5%``."""


def is_share(amount: int | str | None) -> bool:
    """Whether an amount can only be compared when the total is known."""
    return isinstance(amount, str)


def exceeds(count: int, amount: int | str | None, *, of: int) -> bool:
    """Whether ``count`` is more than the amount, which may be a share of ``of``; None means no limit."""
    if amount is None:
        return False
    if isinstance(amount, str):
        # In whole millionths of a percent, because 7 % of 100 is 7.000000000000001 in floats.
        return count * 100_000_000 > round(float(amount.rstrip("%")) * 1_000_000) * of
    return count > amount

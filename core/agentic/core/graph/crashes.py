"""What follows when the process that runs an activation dies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from agentic.core.graph.errors import InvalidPolicyError

OnCrash = Literal["retry", "fail", "review"]
"""Run the activation again; fail it; or let a person decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashPolicy:
    """What follows when the process that runs an activation dies, in runs that have a ledger.

    Attributes:
        on_crash: ``retry`` suits what can be done twice, as fetching; ``review`` what cannot, as posting.
        max_crashes: With ``retry``: how often the process may die before the activation is given up.
    """

    on_crash: OnCrash = "retry"
    max_crashes: int = 2

    def __post_init__(self) -> None:
        if self.on_crash not in get_args(OnCrash):
            raise InvalidPolicyError("on_crash", self.on_crash, "'retry', 'fail' or 'review'")
        if self.max_crashes < 0:
            raise InvalidPolicyError("max_crashes", self.max_crashes, "0 or more")


TWICE_MORE = CrashPolicy()
"""A process may die of something else; who dies three times has killed it."""

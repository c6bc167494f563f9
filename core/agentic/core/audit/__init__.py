"""The audit trail: decisions, their authors and their reasons.

Decisions of a run are in its events, and :func:`decisions_of` reads them there. Other decisions, by a person
or by a schedule, are recorded as a :class:`Decision` together with the change itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.audit.decision import (
        ENGINE,
        MAX_REASON_CHARS,
        Decision,
        DecisionKind,
        acting_user,
        decided,
    )
    from agentic.core.audit.deriving import DECIDING, decisions_of

__all__ = [
    "DECIDING",
    "ENGINE",
    "MAX_REASON_CHARS",
    "Decision",
    "DecisionKind",
    "acting_user",
    "decided",
    "decisions_of",
]

_OF_EVENTS = ("DECIDING", "decisions_of")
_HOMES = {name: "deriving" if name in _OF_EVENTS else "decision" for name in __all__}


def __getattr__(name: str) -> object:
    # A decision is recorded without the events of runs.
    return loaded(__name__, _HOMES, name)

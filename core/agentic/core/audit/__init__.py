"""The audit trail: decisions, their authors and their reasons.

Decisions of a run are in its events, and :func:`decisions_of` reads them there. Other decisions, by a person
or by a schedule, are recorded as a :class:`Decision` together with the change itself.
"""

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

"""Who decided what, and why.

What a run decides stands in its events already, and :func:`decisions_of` reads it there. Whatever else is
decided, by a person or by a schedule, is written down as a :class:`Decision` with the change itself.
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

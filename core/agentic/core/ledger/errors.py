"""Errors of the ledger."""

from __future__ import annotations

from agentic.core.errors import AgenticError, StoreUnavailableError
from agentic.core.types import RunId


class LedgerError(AgenticError):
    """Base class of ledger errors."""


class LedgerUnavailableError(LedgerError, StoreUnavailableError):
    """The store behind the ledger cannot be reached or used."""


class LedgerConflictError(LedgerError):
    """Two transactions conflicted, and this one was undone; start it again."""


class RunExistsError(LedgerError):
    """A run cannot be accepted because another run has its id."""

    def __init__(self, run_id: RunId) -> None:
        super().__init__(
            f"run {run_id!r} exists already; leave run_id out, or give an idempotency_key to get that run"
        )
        self.run_id = run_id


class UnknownRunError(LedgerError):
    """The ledger has no such run."""

    def __init__(self, run_id: RunId) -> None:
        super().__init__(f"the ledger has no run {run_id!r}; see `agentic runs list`")
        self.run_id = run_id


class CorruptRunError(LedgerError, ValueError):
    """The row of a run has invalid content."""

    def __init__(self, run_id: str, reason: str) -> None:
        super().__init__(
            f"the row of run {str(run_id)[:200]!r} in the ledger cannot be read: {reason[:200]}; correct it, "
            f"or remove it"
        )
        self.run_id = run_id
        self.reason = reason


class NoDatabaseError(LedgerError):
    """``ctx.on_commit`` was used with a ledger that is not a database."""

    def __init__(self) -> None:
        super().__init__(
            "ctx.on_commit needs a ledger in SQL, because it writes rows in its transaction; set a "
            "database (AGENTIC_DATABASE_URL)"
        )

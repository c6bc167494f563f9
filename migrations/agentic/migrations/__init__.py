"""The history of the tables: bring a database up to date, or refuse to work with it.

SQLAlchemy and Alembic are loaded only when one of these names is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.migrations.drift import differences
    from agentic.migrations.histories import HistoryStatus, SchemaState
    from agentic.migrations.runner import AppliedRevision, upgrade
    from agentic.migrations.status import require_current, schema_status

_HOMES = {
    "AppliedRevision": "runner",
    "HistoryStatus": "histories",
    "SchemaState": "histories",
    "differences": "drift",
    "require_current": "status",
    "schema_status": "status",
    "upgrade": "runner",
}

__all__ = [
    "AppliedRevision",
    "HistoryStatus",
    "SchemaState",
    "differences",
    "require_current",
    "schema_status",
    "upgrade",
]


def __getattr__(name: str) -> object:
    return loaded(__name__, _HOMES, name)

"""Results to rows: models, sessions, upserts and executions.

The frontier of crawls is in :mod:`agentic.mappers.crawl.frontier`, which imports the pipelines it serves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.ids import new_id
    from agentic.mappers.catalog.executions import (
        EndedExecution,
        StoredResults,
        begin_execution,
        create_execution,
        find_execution,
        finish_execution,
        list_executions,
        queue_execution,
        save_outcome,
        waiting_executions,
    )
    from agentic.mappers.catalog.projects import (
        add_agent,
        add_project,
        find_agent,
        find_project,
        list_agents,
        list_projects,
    )
    from agentic.mappers.catalog.schedules import (
        DuplicateScheduleError,
        UnknownScheduleError,
        add_schedule,
        find_schedule,
        list_schedules,
        pause_schedule,
        resume_schedule,
    )
    from agentic.mappers.checkpoints.store import SqlCheckpointStore
    from agentic.mappers.content import clean, content_hash
    from agentic.mappers.database.database import Database
    from agentic.mappers.errors import (
        DatabaseNewerError,
        DatabaseNotMigratedError,
        DatabaseUnavailableError,
        DatabaseUrlError,
        DataError,
        DuplicateAgentError,
        DuplicateProjectError,
        MigrationError,
        SchemaDriftError,
        UnknownAgentError,
        UnknownColumnError,
        UnknownExecutionError,
        UnknownProjectError,
        UnstableKeyError,
    )
    from agentic.mappers.memories.store import SqlMemoryStore
    from agentic.mappers.tables.columns import Base, UTCDateTime, utc_now
    from agentic.mappers.tables.core import (
        AgentModel,
        AgentResultModel,
        CatchUp,
        ExecutionModel,
        ExecutionStatus,
        FrontierModel,
        FrontierState,
        Overlap,
        ProjectModel,
        ScheduleModel,
        SourceColumns,
    )
    from agentic.mappers.threads.store import SqlThreadStore
    from agentic.mappers.upserts.mapper import ResultMapper, get_result_mapper
    from agentic.mappers.upserts.sentinels import CLEARED, value_or_cleared
    from agentic.mappers.upserts.snapshots import Counters, MetricSnapshotModel
    from agentic.mappers.upserts.upsert import upsert

__all__ = [
    "CLEARED",
    "AgentModel",
    "AgentResultModel",
    "Base",
    "CatchUp",
    "Counters",
    "DataError",
    "Database",
    "DatabaseNewerError",
    "DatabaseNotMigratedError",
    "DatabaseUnavailableError",
    "DatabaseUrlError",
    "DuplicateAgentError",
    "DuplicateProjectError",
    "DuplicateScheduleError",
    "EndedExecution",
    "ExecutionModel",
    "ExecutionStatus",
    "FrontierModel",
    "FrontierState",
    "MetricSnapshotModel",
    "MigrationError",
    "Overlap",
    "ProjectModel",
    "ResultMapper",
    "ScheduleModel",
    "SchemaDriftError",
    "SourceColumns",
    "SqlCheckpointStore",
    "SqlMemoryStore",
    "SqlThreadStore",
    "StoredResults",
    "UTCDateTime",
    "UnknownAgentError",
    "UnknownColumnError",
    "UnknownExecutionError",
    "UnknownProjectError",
    "UnknownScheduleError",
    "UnstableKeyError",
    "add_agent",
    "add_project",
    "add_schedule",
    "begin_execution",
    "clean",
    "content_hash",
    "create_execution",
    "find_agent",
    "find_execution",
    "find_project",
    "find_schedule",
    "finish_execution",
    "get_result_mapper",
    "list_agents",
    "list_executions",
    "list_projects",
    "list_schedules",
    "new_id",
    "pause_schedule",
    "queue_execution",
    "resume_schedule",
    "save_outcome",
    "upsert",
    "utc_now",
    "value_or_cleared",
    "waiting_executions",
]

_HOMES = {
    "AgentModel": "tables.core",
    "AgentResultModel": "tables.core",
    "Base": "tables.columns",
    "CLEARED": "upserts.sentinels",
    "CatchUp": "tables.core",
    "Counters": "upserts.snapshots",
    "DataError": "errors",
    "Database": "database.database",
    "DatabaseNewerError": "errors",
    "DatabaseNotMigratedError": "errors",
    "DatabaseUnavailableError": "errors",
    "DatabaseUrlError": "errors",
    "DuplicateAgentError": "errors",
    "DuplicateProjectError": "errors",
    "DuplicateScheduleError": "catalog.schedules",
    "EndedExecution": "catalog.executions",
    "ExecutionModel": "tables.core",
    "ExecutionStatus": "tables.core",
    "FrontierModel": "tables.core",
    "FrontierState": "tables.core",
    "MetricSnapshotModel": "upserts.snapshots",
    "MigrationError": "errors",
    "Overlap": "tables.core",
    "ProjectModel": "tables.core",
    "ResultMapper": "upserts.mapper",
    "ScheduleModel": "tables.core",
    "SchemaDriftError": "errors",
    "SourceColumns": "tables.core",
    "SqlCheckpointStore": "checkpoints.store",
    "SqlMemoryStore": "memories.store",
    "SqlThreadStore": "threads.store",
    "StoredResults": "catalog.executions",
    "UTCDateTime": "tables.columns",
    "UnknownAgentError": "errors",
    "UnknownColumnError": "errors",
    "UnknownExecutionError": "errors",
    "UnknownProjectError": "errors",
    "UnknownScheduleError": "catalog.schedules",
    "UnstableKeyError": "errors",
    "add_agent": "catalog.projects",
    "add_project": "catalog.projects",
    "add_schedule": "catalog.schedules",
    "begin_execution": "catalog.executions",
    "clean": "content",
    "content_hash": "content",
    "create_execution": "catalog.executions",
    "find_agent": "catalog.projects",
    "find_execution": "catalog.executions",
    "find_project": "catalog.projects",
    "find_schedule": "catalog.schedules",
    "finish_execution": "catalog.executions",
    "get_result_mapper": "upserts.mapper",
    "list_agents": "catalog.projects",
    "list_executions": "catalog.executions",
    "list_projects": "catalog.projects",
    "list_schedules": "catalog.schedules",
    "new_id": ".core.ids",
    "pause_schedule": "catalog.schedules",
    "queue_execution": "catalog.executions",
    "resume_schedule": "catalog.schedules",
    "save_outcome": "catalog.executions",
    "upsert": "upserts.upsert",
    "utc_now": "tables.columns",
    "value_or_cleared": "upserts.sentinels",
    "waiting_executions": "catalog.executions",
}


def __getattr__(name: str) -> object:
    # A command uses a few of the tables, and each costs a millisecond or more.
    return loaded(__name__, _HOMES, name)

"""Results to rows: models, sessions, upserts and executions.

The frontier of crawls is in :mod:`agentic.mappers.crawl.frontier`, which imports the pipelines it serves.
"""

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


def __getattr__(name: str) -> object:
    from agentic.core.lazily import loaded

    return loaded(__name__, {}, name)

"""Results to rows: models, sessions, upserts and executions.

The frontier of crawls is in :mod:`agentic.mappers.frontier`, which loads the pipelines it serves.
"""

from agentic.mappers.base import ResultMapper, get_result_mapper
from agentic.mappers.catalog import (
    add_agent,
    add_project,
    find_agent,
    find_project,
    list_agents,
    list_projects,
)
from agentic.mappers.checkpoints import SqlCheckpointStore
from agentic.mappers.columns import Base, UTCDateTime, new_id, utc_now
from agentic.mappers.content import clean, content_hash
from agentic.mappers.database import Database
from agentic.mappers.errors import (
    DatabaseNewerError,
    DatabaseNotMigratedError,
    DatabaseUnavailableError,
    DatabaseUrlError,
    DataError,
    DuplicateAgentError,
    DuplicateProjectError,
    ExecutionLostError,
    ExecutionStateError,
    MigrationError,
    SchemaDriftError,
    UnknownAgentError,
    UnknownColumnError,
    UnknownExecutionError,
    UnknownProjectError,
)
from agentic.mappers.executions import (
    claim_execution,
    create_execution,
    find_execution,
    finish_execution,
    list_executions,
    touch_execution,
)
from agentic.mappers.models import (
    AgentModel,
    AgentResultModel,
    ExecutionModel,
    ExecutionStatus,
    FrontierModel,
    FrontierState,
    ProjectModel,
    SourceColumns,
)
from agentic.mappers.upsert import upsert

__all__ = [
    "AgentModel",
    "AgentResultModel",
    "Base",
    "DataError",
    "Database",
    "DatabaseNewerError",
    "DatabaseNotMigratedError",
    "DatabaseUnavailableError",
    "DatabaseUrlError",
    "DuplicateAgentError",
    "DuplicateProjectError",
    "ExecutionLostError",
    "ExecutionModel",
    "ExecutionStateError",
    "ExecutionStatus",
    "FrontierModel",
    "FrontierState",
    "MigrationError",
    "ProjectModel",
    "ResultMapper",
    "SchemaDriftError",
    "SourceColumns",
    "SqlCheckpointStore",
    "UTCDateTime",
    "UnknownAgentError",
    "UnknownColumnError",
    "UnknownExecutionError",
    "UnknownProjectError",
    "add_agent",
    "add_project",
    "claim_execution",
    "clean",
    "content_hash",
    "create_execution",
    "find_agent",
    "find_execution",
    "find_project",
    "finish_execution",
    "get_result_mapper",
    "list_agents",
    "list_executions",
    "list_projects",
    "new_id",
    "touch_execution",
    "upsert",
    "utc_now",
]

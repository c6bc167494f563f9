"""The checkpoint store that the settings name."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from agentic.core.settings import Settings, load_settings
from agentic.executors.errors import CheckpointsUrlError

if TYPE_CHECKING:
    from agentic.core.graph import CheckpointStore

REDIS_SCHEMES = frozenset({"redis", "rediss", "unix"})
NATS_SCHEMES = frozenset({"nats", "tls"})


@asynccontextmanager
async def open_checkpoints(settings: Settings | None = None) -> AsyncGenerator[CheckpointStore, None]:
    """Open the checkpoint store of the current project, until the block ends.

    ``AGENTIC_CHECKPOINTS_URL`` names it: a NATS server, a Redis or Valkey server, or a database; without it,
    the database of the project.

    Args:
        settings: The settings of this process; read from the environment by default.

    Raises:
        CheckpointsUrlError: The URL is of another kind.
        CheckpointStoreError: The store cannot be used.
        DatabaseUrlError: The URL does not name a supported database.
    """
    known = load_settings() if settings is None else settings
    url, project = known.checkpoints, known.project
    scheme = url.partition(":")[0].lower()
    if scheme in NATS_SCHEMES:
        from agentic.core.bus.nats.access import access_of
        from agentic.core.stores.nats_checkpoints import NatsCheckpointStore

        async with NatsCheckpointStore.open(url, project=project, access=access_of(known, project)) as store:
            yield store
    elif scheme in REDIS_SCHEMES:
        from agentic.core.stores.redis_checkpoints import RedisCheckpointStore

        async with RedisCheckpointStore.open(url, project=project) as server_store:
            yield server_store
    elif scheme.partition("+")[0] in {"sqlite", "postgresql"}:
        from agentic.mappers import SqlCheckpointStore

        sql_store = SqlCheckpointStore.open(url, project=project)
        try:
            yield sql_store
        finally:
            sql_store.close()
    else:
        raise CheckpointsUrlError(url)

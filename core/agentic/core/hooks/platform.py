"""All about one platform, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentic.core.hooks.findings import Check

if TYPE_CHECKING:  # the classes live in rooms above; only their names are needed here
    from pydantic import BaseModel

    from agentic.executors import BaseAgentExecutor
    from agentic.mappers import ResultMapper


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What a plugin says of a platform it brings.

    Attributes:
        name: Unique among the installed plugins: ``"hackernews"``.
        executor: Runs an agent of this platform.
        mapper: Stores its results.
        settings: Validates ``agents.config``; unknown keys are refused. None: the agent takes no config.
        migrations: Package that holds the Alembic ``versions`` of this platform's own tables, as
            ``"agentic.plugins.hackernews.migrations"``; None when it brings no table.
        models: Its mapped classes, so that a check can compare them with the database.
        doctor: Returns what is wrong, as the hook ``agentic_doctor`` does.
    """

    name: str
    executor: type[BaseAgentExecutor]
    mapper: type[ResultMapper]
    settings: type[BaseModel] | None = None
    migrations: str | None = None
    models: Sequence[type[object]] = ()
    doctor: Check | None = None

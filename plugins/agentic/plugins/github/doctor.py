"""What ``agentic doctor`` says of the GitHub agents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from agentic.core.errors import AgenticError
from agentic.core.hooks import Finding, warning
from agentic.core.settings import load_settings
from agentic.executors.commands.database import opened
from agentic.mappers import AgentModel, Database
from agentic.mappers.errors import DataError
from agentic.mappers.vault import SqlSecrets
from agentic.mappers.vault_keys import SecretKeys
from agentic.plugins.github.settings import GithubSettings

PLATFORM_NAME = "github"


def agent_findings() -> Iterator[Finding]:
    """Tell of agents whose token is not there, and of those that have none. GitHub is not asked."""
    settings = load_settings()
    try:
        with opened(Database(settings.database)) as database:
            yield from findings_in(database, SecretKeys.configured(settings))
    except (DataError, SQLAlchemyError):  # told by the rooms of the database and of the migrations
        return


def findings_in(database: Database, keys: SecretKeys) -> Iterator[Finding]:
    """Look at the agents of ``database``."""
    with database.reading() as session:
        agents = session.scalars(select(AgentModel).where(AgentModel.agent_platform == PLATFORM_NAME)).all()
        session.expunge_all()
    for agent in agents:
        yield from _agent_findings(agent, SqlSecrets(database, agent.project_id, keys))


def _agent_findings(agent: AgentModel, secrets: SqlSecrets) -> Iterator[Finding]:
    try:
        settings = GithubSettings.model_validate(agent.config)
    except ValidationError:  # said when it is run, and by `agentic agents add`
        return
    named = f"agent {agent.agent_name!r} of project {agent.project.name!r}"
    if settings.secret is None:
        yield warning(
            f"{named} has no token, so GitHub answers it 60 times an hour; give it token=${{secrets.NAME}}"
        )
        return
    try:
        asyncio.run(secrets.secret(settings.secret))
    except AgenticError as exc:
        yield Finding(f"{named} cannot ask GitHub: {exc}")

"""The checks of ``agentic doctor`` for configured agents, the same for all platforms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from agentic.core.errors import AgenticError
from agentic.core.hooks import Finding

if TYPE_CHECKING:  # sqlalchemy is loaded when the doctor runs
    from sqlalchemy.orm import Session

    from agentic.mappers import AgentModel, Database
    from agentic.mappers.vault.keys import SecretKeys

SettingsT = TypeVar("SettingsT", bound=BaseModel)


def _nothing(*_: object) -> tuple[()]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsDoctor(Generic[SettingsT]):
    """Checks the agents of a platform; give it as ``Platform.doctor``.

    It reports agents whose config their platform refuses, and named secrets that are not stored. A platform
    adds its own checks. It reads only the database, and calls nothing outside.

    Attributes:
        platform: Name of the platform.
        settings: Validates configs; None where the platform's agents take none.
        look: Returns further faults of an agent, in words that follow its name: ``has no token``.
        look_into: Does the same with data from the database.
        secrets: Names of secrets that an agent needs besides the ``${secrets.NAME}`` in its config.
    """

    platform: str
    settings: type[SettingsT] | None = None
    look: Callable[[SettingsT], Iterable[Finding]] = _nothing
    look_into: Callable[[Database, AgentModel, SettingsT], Iterable[Finding]] = _nothing
    secrets: Callable[[SettingsT], Iterable[str]] = _nothing

    def __call__(self) -> Iterator[Finding]:
        """Check the database of the settings; other checks report an unreadable one."""
        from sqlalchemy.exc import SQLAlchemyError

        from agentic.core.settings import load_settings
        from agentic.mappers import Database
        from agentic.mappers.errors import DataError
        from agentic.mappers.vault.keys import SecretKeys

        settings = load_settings()
        try:
            database = Database.configured(settings)
            try:
                yield from self.findings_in(database, SecretKeys.configured(settings))
            finally:
                database.dispose()
        except (DataError, SQLAlchemyError):
            return

    def findings_in(self, database: Database, keys: SecretKeys) -> Iterator[Finding]:
        """Check the agents of ``database``, whose secrets ``keys`` decrypt.

        Raises:
            DatabaseUnavailableError: It cannot be opened.
        """
        from sqlalchemy import select

        from agentic.mappers import AgentModel

        named = AgentModel.agent_platform == self.platform
        with database.reading() as session:
            agents = session.scalars(select(AgentModel).where(named).order_by(AgentModel.agent_name)).all()
            faults = {agent.id: list(_config_faults(session, agent)) for agent in agents}
        missing = _Missing(database, keys)
        for agent in agents:
            yield from faults[agent.id]
            settings = self._read(agent)
            if settings is not None:
                said = (*self.look(settings), *self.look_into(database, agent, settings))
                yield from (Finding(f"{_shown(agent)} {one.text}", one.severity) for one in said)
            for reason in missing.of(agent, self._secret_names(agent, settings)):
                yield Finding(f"{_shown(agent)} cannot get its secret: {reason}")

    def _secret_names(self, agent: AgentModel, settings: SettingsT | None) -> list[str]:
        from agentic.core.pipeline.expressions.secret_masking import secret_names

        further = () if settings is None else self.secrets(settings)
        return sorted({*secret_names(agent.config), *further})

    def _read(self, agent: AgentModel) -> SettingsT | None:
        """Return the config; None if it is invalid, which is reported elsewhere."""
        try:
            return None if self.settings is None else self.settings.model_validate(agent.config)
        except ValidationError:
            return None


class _Missing:
    """Why secrets are unavailable; each is looked up once, however many agents name it."""

    def __init__(self, database: Database, keys: SecretKeys) -> None:
        self._database = database
        self._keys = keys
        self._known: dict[tuple[str, str], str | None] = {}

    def of(self, agent: AgentModel, names: Iterable[str]) -> Iterator[str]:
        """Yield why some of an agent's ``names`` are unavailable."""
        for name in names:
            key = (agent.project_id, name)
            if key not in self._known:
                self._known[key] = self._reason(*key)
            if reason := self._known[key]:
                yield reason

    def _reason(self, project_id: str, name: str) -> str | None:
        from agentic.mappers.vault.vault import SqlSecrets

        try:
            asyncio.run(SqlSecrets(self._database, project_id, self._keys).secret(name))
        except AgenticError as exc:
            return str(exc)
        return None


def _config_faults(session: Session, agent: AgentModel) -> Iterator[Finding]:
    """Validate the config with the platform, as before each run."""
    from agentic.executors.agents.catalog import check_agent
    from agentic.executors.errors import AgentConfigError

    try:
        check_agent(session, agent)
    except AgentConfigError as exc:
        advice = f"`agentic agents edit {agent.agent_name}` changes its config"
        yield Finding(
            f"{_shown(agent)} cannot run: its configuration is invalid: {'; '.join(exc.faults)}; {advice}"
        )
    except AgenticError as exc:
        yield Finding(f"{_shown(agent)} cannot run: {exc}")


def _shown(agent: AgentModel) -> str:
    return f"agent {agent.agent_name!r} of project {agent.project.name!r}"

"""The parts of one platform, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from agentic.core.hooks.findings import Check
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from pydantic import BaseModel


class PlatformExecutor(Protocol):
    """Runs an agent; subclass :class:`agentic.executors.BaseAgentExecutor`."""

    # Agent and session are types of SQLAlchemy, which the core does not know.
    def __init__(self, agent: Any, execution_id: str, db_session: Any = None) -> None: ...  # noqa: ANN401

    def validate(self) -> None:
        """Check the agent before all work."""

    def create_initial_state(self) -> dict[str, object]:
        """Return the input of ``execute_agent``."""
        ...

    async def execute_agent(self, state: dict[str, object]) -> dict[str, object]:
        """Do the work and return its results."""
        ...

    def save_results(self, results: dict[str, object]) -> bool:
        """Store the results."""
        ...

    async def cleanup(self) -> None:
        """Release what ``execute_agent`` opened."""


class AgentMapper(Protocol):
    """Stores results; subclass :class:`agentic.mappers.ResultMapper`."""

    def __init__(self, session: Any, execution_id: str, agent: Any) -> None: ...  # noqa: ANN401

    def save_results(self, results: dict[str, object]) -> bool:
        """Store the results as rows."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A plugin's description of a platform.

    Attributes:
        name: Unique among the installed plugins: ``"hackernews"``.
        executor: Runs an agent of this platform.
        mapper: Stores its results.
        settings: Validates ``agents.config``; unknown keys are refused. None: the agent takes no config.
        load_config: Reads a config from a file for ``agentic agents add --file``; paths in the file are
            relative to it. None: such files are read as YAML or JSON.
        migrations: Package that holds the Alembic ``versions`` of this platform's own tables, as
            ``"agentic.plugins.hackernews.migrations"``; None when it has no tables.
        models: Its mapped classes, so that a check can compare them with the database.
        doctor: Returns problems like the hook ``agentic_doctor``.
        talk: Makes an agent of a row and its database, for people and programs to talk to over HTTP: a
            ``TalkingAgent`` of :mod:`agentic.executors.agents.talking`. None: its agents only run.
    """

    name: str
    executor: type[PlatformExecutor]
    mapper: type[AgentMapper]
    settings: type[BaseModel] | None = None
    load_config: Callable[[Path], Mapping[str, JSONValue]] | None = None
    migrations: str | None = None
    models: Sequence[type[object]] = ()
    doctor: Check | None = None
    talk: Callable[[Any, Any], Any] | None = None


def platform_at(place: str, *, name: str, migrations: str | None = None) -> Platform:
    """Return a platform that is loaded when more is used than the arguments here.

    Every command asks every plugin for its platforms, and most commands need one of them: only then are
    its models and the libraries of its client loaded::

        platform_at("agentic_plugin_x.platform:PLATFORM", name="x", migrations="agentic_plugin_x.migrations")

    Args:
        place: Module and name of the :class:`Platform`, with a colon between.
        name: Its name.
        migrations: Its migrations.

    Raises:
        ImportError: It cannot be loaded; raised at the first use.
        ValueError: Its name or its migrations are different; raised likewise.
    """
    return _PlatformAt(place, name, migrations)


class _PlatformAt(Platform):
    """Its fields are unset until one of them is used."""

    def __init__(self, place: str, name: str, migrations: str | None) -> None:
        for key, value in {"name": name, "migrations": migrations, "_place": place}.items():
            object.__setattr__(self, key, value)

    # The versions of a dataclass would load it, and fail if it cannot be loaded.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        place: str = object.__getattribute__(self, "_place")
        return f"platform_at({place!r}, name={self.name!r}, migrations={self.migrations!r})"

    def __getattr__(self, attribute: str) -> object:
        if attribute not in Platform.__slots__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")
        whole = self._loaded()
        for field in fields(Platform):
            object.__setattr__(self, field.name, getattr(whole, field.name))
        return cast(object, getattr(whole, attribute))

    def _loaded(self) -> Platform:
        place: str = object.__getattribute__(self, "_place")
        module, _, attribute = place.partition(":")
        whole: Platform = getattr(import_module(module), attribute)
        if (whole.name, whole.migrations) != (self.name, self.migrations):
            raise ValueError(
                f"{place} is the platform {whole.name!r} with the migrations {whole.migrations!r}, not "
                f"{self.name!r} with {self.migrations!r}; use the same values in platform_at"
            )
        return whole

"""All about one platform, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, cast

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


def platform_at(place: str, *, name: str, migrations: str | None = None) -> Platform:
    """Return a platform that is loaded when somebody looks at more than what is said here.

    Every command asks every plugin for its platforms, and most commands need one of them: its models and the
    libraries of its client are loaded then::

        platform_at("agentic_plugin_x.platform:PLATFORM", name="x", migrations="agentic_plugin_x.migrations")

    Args:
        place: Module and name of the :class:`Platform`, with a colon between.
        name: Its name.
        migrations: Its migrations.

    Raises:
        ImportError: It cannot be loaded; raised by whoever looks.
        ValueError: It calls itself otherwise, or has other migrations; raised likewise.
    """
    return _PlatformAt(place, name, migrations)


class _PlatformAt(Platform):
    """Its fields are unset until one of them is looked at."""

    def __init__(self, place: str, name: str, migrations: str | None) -> None:
        for key, value in {"name": name, "migrations": migrations, "_place": place}.items():
            object.__setattr__(self, key, value)

    # As a dataclass's these would load it, and fail where it cannot be loaded.
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

"""Loads plugins by entry point, explains failures, and keeps a broken one from harming the others."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pluggy

from agentic.core.errors import BrokenActorError, DuplicateNameError, UnknownPlatformError
from agentic.core.hooks import specs
from agentic.core.hooks.findings import Check, Finding, findings_of
from agentic.core.hooks.fitting import misfit_of
from agentic.core.hooks.later import ActorAt, Later
from agentic.core.hooks.markers import ENTRY_POINT_GROUP, PROJECT_NAME
from agentic.core.hooks.observed import Observer
from agentic.core.hooks.offers import ActorOffers, Offers
from agentic.core.hooks.platform import Platform

if TYPE_CHECKING:
    import typer

    from agentic.core.actors import Actor
    from agentic.core.agents.tools.toolset import Toolset
    from agentic.core.coding.languages.language import Language
    from agentic.core.graph import Workflow
    from agentic.core.hooks.asgi import AsgiApp
    from agentic.core.llm.adapter import LLMAdapter
    from agentic.core.pipeline import PipelineBuilder

T = TypeVar("T")
_Claims = Sequence[tuple["LoadedPlugin", Sequence[tuple[str, T]]]]
KINDS = ("platforms", "actors", "builders", "models", "languages", "toolsets", "workflows", "http_apps")
DEADLINE_S = 15.0
HOOK_NAMES = tuple(sorted(name for name in vars(specs) if name.startswith("agentic_")))


@dataclass(slots=True)
class LoadedPlugin:
    """One entry point, loaded or not.

    ``errors`` holds the errors of importing it and of calling its hooks, a sentence each; a plugin
    with errors is shown by ``agentic plugins`` and breaks nothing else.
    """

    name: str
    distribution: str
    version: str
    hooks: tuple[str, ...] = ()
    disabled: bool = False
    errors: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Its name in errors."""
        return f"{self.distribution} {self.version} ({self.name})"

    def note(self, error: str) -> None:
        """Add an error, once however often it happens."""
        if error not in self.errors:
            self.errors.append(error)


class PluginRegistry:
    """The plugins of one process and their offers, by name.

    Offers are collected at the first use and then kept. A name that two plugins claim belongs
    to neither: see :class:`Offers`.
    """

    def __init__(
        self, entry_points: Iterable[importlib.metadata.EntryPoint], disabled: Iterable[str] = ()
    ) -> None:
        self._manager = pluggy.PluginManager(PROJECT_NAME)
        self._manager.add_hookspecs(specs)
        self._added: dict[str, Platform] = {}
        self.plugins: dict[str, LoadedPlugin] = {}
        for entry_point in sorted(entry_points, key=lambda e: e.name):
            self._load(entry_point, frozenset(disabled))

    @cached_property
    def _found_platforms(self) -> Offers[Platform]:
        found: _Claims[Platform] = self._gather("agentic_platforms", lambda said: [(p.name, p) for p in said])
        return _by_name("platform", found)

    @property
    def platforms(self) -> Offers[Platform]:
        """Platform name -> platform: of all plugins, then of :meth:`add_platform`."""
        return self._found_platforms.joined(self._added)

    @cached_property
    def actors(self) -> ActorOffers[type[Actor]]:
        """Actor name or alias -> actor class, of all plugins."""
        said: list[tuple[LoadedPlugin, list[tuple[str, type[Actor] | ActorAt]]]] = self._gather(
            "agentic_actors", lambda said: [(name, a) for a in said for name in (a.name, *a.aliases)]
        )
        found: _Claims[type[Actor] | Later[type[Actor]]] = [
            (plugin, [(name, _loading(a, plugin) if isinstance(a, ActorAt) else a) for name, a in brought])
            for plugin, brought in said
        ]
        return ActorOffers.of("actor", _named(found))

    @cached_property
    def builders(self) -> Offers[Callable[[Mapping[str, type[Actor]]], PipelineBuilder]]:
        """Builder name -> factory, of all plugins."""
        found: _Claims[Callable[[Mapping[str, type[Actor]]], PipelineBuilder]] = self._gather(
            "agentic_builders", lambda said: list(said.items())
        )
        return _by_name("builder", found)

    @cached_property
    def models(self) -> Offers[Callable[..., LLMAdapter]]:
        """Provider -> factory of its models, of all plugins."""
        found: _Claims[Callable[..., LLMAdapter]] = self._gather(
            "agentic_models", lambda said: list(said.items())
        )
        return _by_name("provider of models", found)

    @cached_property
    def toolsets(self) -> Offers[Callable[..., Toolset]]:
        """Kind -> factory of toolsets of agents, of all plugins."""
        found: _Claims[Callable[..., Toolset]] = self._gather(
            "agentic_toolsets", lambda said: list(said.items())
        )
        return _by_name("kind of toolset", found)

    @cached_property
    def languages(self) -> Offers[Language]:
        """Language name or alias -> language, of all plugins."""
        found: _Claims[Language] = self._gather(
            "agentic_languages", lambda said: [(name, one) for one in said for name in one.names]
        )
        return _by_name("language", found)

    @cached_property
    def workflows(self) -> Offers[Callable[[], Workflow]]:
        """Workflow name -> factory, of all plugins."""
        found: _Claims[Callable[[], Workflow]] = self._gather(
            "agentic_workflows", lambda said: list(said.items())
        )
        return _by_name("workflow", found)

    @cached_property
    def http_apps(self) -> Offers[Callable[[Any], AsgiApp]]:
        """Name -> factory of an ASGI application, of all plugins."""
        found: _Claims[Callable[[Any], AsgiApp]] = self._gather(
            "agentic_http", lambda said: list(said.items())
        )
        return _by_name("HTTP application", found)

    def platform(self, name: str) -> Platform:
        """Return the platform called ``name``.

        Raises:
            UnknownPlatformError: No loaded plugin has it.
            DuplicateNameError: Two of them do.
        """
        try:
            return self.platforms[name]
        except KeyError:
            raise UnknownPlatformError(name, sorted(self.platforms)) from None

    def add_platform(self, platform: Platform) -> None:
        """Add a platform at run time, for tests and scripts that are not installed plugins.

        Raises:
            DuplicateNameError: The name is taken.
        """
        if self.platforms.is_taken(platform.name):
            raise DuplicateNameError("platform", platform.name, "an installed plugin", "add_platform()")
        self._added[platform.name] = platform

    def observers(self, hook: str) -> Sequence[Observer]:
        """Return the implementations of an observing hook, such as ``agentic_event``."""
        impls = getattr(self._manager.hook, hook).get_hookimpls()
        return [Observer(impl.plugin_name, hook, impl.function, impl.argnames) for impl in impls]

    def add_commands(self, app: typer.Typer) -> None:
        """Call every plugin to add its commands to ``app``."""
        self._gather("agentic_commands", lambda said: said, app=app)

    def findings(self, deadline_s: float = DEADLINE_S) -> list[Finding]:
        """Return the problems that plugins and platforms report, after ``deadline_s`` at the latest."""
        checks: list[tuple[str, Check]] = [
            (impl.plugin_name, cast(Check, impl.function))
            for impl in self._manager.hook.agentic_doctor.get_hookimpls()
        ]
        found = [Finding(f"plugins: {clash}") for clash in self.clashes()]
        doctors = ((one.name, _doctor_of(one)) for one in self.platforms.values())
        checks += [(name, doctor) for name, doctor in doctors if doctor is not None]
        self.actors.values()  # actors that cannot be loaded are errors of their plugins
        found += findings_of(sorted(checks, key=lambda check: check[0]), deadline_s)
        broken = [f"{plugin.name}: {error}" for plugin in self.plugins.values() for error in plugin.errors]
        return [*map(Finding, broken), *found]

    def clashes(self) -> list[DuplicateNameError]:
        """Collect the offers of all plugins, and return an error for each name that two of them claim."""
        offers: list[Offers[Any]] = [getattr(self, kind) for kind in KINDS]
        return [clash for offer in offers for clash in offer.clashes.values()]

    def _load(self, entry_point: importlib.metadata.EntryPoint, disabled: frozenset[str]) -> None:
        plugin = LoadedPlugin(entry_point.name, *_name_and_version(entry_point.dist))
        if known := self.plugins.get(plugin.name):
            # The same distribution can be listed twice (an editable and a built copy on the path).
            if known.distribution != plugin.distribution:
                known.errors.append(
                    f"the entry point {plugin.name!r} is also claimed by {plugin.distribution} "
                    f"{plugin.version}, which was not loaded; uninstall one of the two"
                )
            return
        self.plugins[plugin.name] = plugin
        plugin.disabled = plugin.name in disabled
        if plugin.disabled:
            return
        try:
            if misfit := misfit_of(entry_point.dist):
                plugin.errors.append(misfit)
                return
            module = entry_point.load()
            self._manager.register(module, name=plugin.name)
        except (Exception, SystemExit) as exc:
            plugin.errors.append(_explain(exc))
            return
        plugin.hooks = tuple(sorted(c.name for c in self._manager.get_hookcallers(module) or []))
        plugin.errors += [
            f"{hook!r} is not a hook of this version (known: {', '.join(HOOK_NAMES)})"
            for hook in plugin.hooks
            if hook not in HOOK_NAMES
        ]

    def _gather(
        self, hook: str, read: Callable[[Any], T], **arguments: object
    ) -> list[tuple[LoadedPlugin, T]]:
        """Call each plugin's implementation separately, so that one that raises does not affect the others.

        ``read`` unpacks the value that one returned; an error in it is an error of its plugin, too.
        """
        found: list[tuple[LoadedPlugin, T]] = []
        for impl in getattr(self._manager.hook, hook).get_hookimpls():
            plugin = self.plugins[impl.plugin_name]
            try:
                said = impl.function(*(arguments[name] for name in impl.argnames))
                found.append((plugin, read(said)))
            except (Exception, SystemExit) as exc:
                plugin.note(f"{hook}: {_explain(exc)}")
        return sorted(found, key=lambda pair: pair[0].name)


@lru_cache(maxsize=1)
def get_registry() -> PluginRegistry:
    """Return the installed plugins, loaded once for this process."""
    return PluginRegistry(importlib.metadata.entry_points(group=ENTRY_POINT_GROUP), disabled=_disabled())


def _disabled() -> Sequence[str]:
    # Settings take 0.1 s to load, and help and versions need nothing else of them.
    if "AGENTIC_DISABLED_PLUGINS" not in map(str.upper, os.environ):
        return ()
    from agentic.core.settings import load_settings

    return load_settings().disabled_plugins


@lru_cache
def _name_and_version(distribution: importlib.metadata.Distribution | None) -> tuple[str, str]:
    # A distribution reads its file each time, and one with ten plugins is asked ten times.
    return (distribution.name, distribution.version) if distribution else ("unknown", "unknown")


def _loading(named: ActorAt, plugin: LoadedPlugin) -> Later[type[Actor]]:
    def load() -> type[Actor]:
        try:
            return named.load()
        except (Exception, SystemExit) as exc:
            plugin.note(f"the actor {named.name!r} cannot be loaded: {_explain(exc)}")
            raise BrokenActorError(named.name, plugin.label, _explain(exc)) from exc

    return Later(load)


def _by_name(kind: str, claims: _Claims[T | Later[T]]) -> Offers[T]:
    return Offers.of(kind, _named(claims))


def _named(claims: _Claims[T | Later[T]]) -> Iterable[tuple[str, str, T | Later[T]]]:
    return ((plugin.label, *named) for plugin, brought in claims for named in brought)


def _doctor_of(platform: Platform) -> Check | None:
    try:
        return platform.doctor
    except Exception as exc:  # a plugin that is loaded only now must not affect the others
        broken = Finding(f"the platform cannot be loaded: {_explain(exc)}")
        return lambda: [broken]


def _explain(exc: BaseException) -> str:
    return f"{type(exc).__name__}: {exc}"

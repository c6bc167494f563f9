"""``agentic plugins``: what is installed, what it brings, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated

import typer
from rich.text import Text

from agentic.core.cli.output import console, print_json, print_rows
from agentic.core.errors import DuplicateNameError, PluginError
from agentic.core.hooks import ENTRY_POINT_GROUP, LoadedPlugin, PluginRegistry, get_registry

OFFERS: Mapping[str, Callable[[PluginRegistry], Iterable[str]]] = {
    "platform": lambda registry: registry.platforms,
    "actor": lambda registry: {actor.name for actor in registry.actors.values()},
    "builder": lambda registry: registry.builders,
    "provider of models": lambda registry: registry.models,
    "workflow": lambda registry: registry.workflows,
}


COLUMNS = ("name", "version", "distribution", "status", "brings")


class UnknownPluginError(PluginError, LookupError):
    """No plugin of that name is installed."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"no plugin {name!r} is installed (known: {', '.join(known) or 'none'})")
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginReport:
    """All there is to say of a plugin. ``status`` is ok, disabled or error; ``errors`` are sentences."""

    name: str
    distribution: str
    version: str
    status: str
    hooks: Sequence[str]
    platforms: Sequence[str]
    actors: Sequence[str]
    builders: Sequence[str]
    models: Sequence[str]
    workflows: Sequence[str]
    errors: Sequence[str]


def plugins(
    name: Annotated[str | None, typer.Argument(help="Show one plugin and everything that it adds.")] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the installed plugins: version, distribution, contents and faults.

    A broken plugin is a row with an error and never fails this command.
    """
    known = describe_plugins(get_registry(), entry_points(group=ENTRY_POINT_GROUP))
    reports = [report for report in known if name in (None, report.name)]
    if name is not None and not reports:
        raise UnknownPluginError(name, [report.name for report in known])
    if json:
        print_json([asdict(report) for report in reports])
        return
    if name is not None:
        _print_details(reports[0])
    else:
        print_rows("Plugins", COLUMNS, list(map(_row, reports)))
    for report in reports:
        for error in report.errors:
            # As plain text, since what plugins say may look like markup.
            console.print(Text(f"{report.name}: {error}", style="red"), soft_wrap=True)


def describe_plugins(registry: PluginRegistry, installed: Iterable[EntryPoint]) -> list[PluginReport]:
    """Return a report on each plugin of ``registry``, in name order.

    Args:
        registry: The plugins, loaded together.
        installed: Their entry points. Each is asked apart what it brings, so that two plugins claiming one
            name both show it.
    """
    first: dict[str, EntryPoint] = {}
    for entry_point in installed:
        first.setdefault(entry_point.name, entry_point)
    conflicts = registry.clashes()  # from now on the plugins know the errors that their hooks raised
    return [
        _describe(plugin, PluginRegistry([first[plugin.name]] if plugin.hooks else []), conflicts)
        for plugin in sorted(registry.plugins.values(), key=lambda plugin: plugin.name)
    ]


def _describe(
    plugin: LoadedPlugin, alone: PluginRegistry, conflicts: Iterable[DuplicateNameError]
) -> PluginReport:
    brought = {kind: sorted(offer(alone)) for kind, offer in OFFERS.items()}
    # What it brings was loaded just now, so that those who are looked at alone know of more errors.
    known = [*plugin.errors, *(error for one in alone.plugins.values() for error in one.errors)]
    errors = [*dict.fromkeys(known), *(str(clash) for clash in conflicts if plugin.label in clash.claimants)]
    return PluginReport(
        name=plugin.name,
        distribution=plugin.distribution,
        version=plugin.version,
        status="disabled" if plugin.disabled else "error" if errors else "ok",
        hooks=plugin.hooks,
        platforms=brought["platform"],
        actors=brought["actor"],
        builders=brought["builder"],
        models=brought["provider of models"],
        workflows=brought["workflow"],
        errors=errors,
    )


def _row(report: PluginReport) -> dict[str, object]:
    brought = {
        "platform": report.platforms,
        "actor": report.actors,
        "builder": report.builders,
        "provider of models": report.models,
        "workflow": report.workflows,
    }
    counts = [(kind, len(names)) for kind, names in brought.items() if names]
    return {
        "name": report.name,
        "version": report.version,
        "distribution": report.distribution,
        "status": report.status,
        "brings": [_counted(count, kind) for kind, count in counts],
    }


def _counted(count: int, kind: str) -> str:
    first, blank, rest = kind.partition(" ")
    return f"{count} {first}{'s' if count > 1 else ''}{blank}{rest}"


def _details(report: PluginReport) -> dict[str, object]:
    """Return all there is to say of a plugin, a name each."""
    hooks = [hook.removeprefix("agentic_") for hook in report.hooks]
    return {**asdict(report), "hooks": hooks}


def _print_details(report: PluginReport) -> None:
    for name, value in _details(report).items():
        shown = ", ".join(value) if isinstance(value, (list, tuple)) else str(value)
        if shown:
            console.print(Text(f"{name:>12}  {shown}"), soft_wrap=True)

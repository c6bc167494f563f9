"""``agentic plugins``: what is installed, what it brings, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated

import typer
from rich.text import Text

from agentic.core.cli.output import console, print_json, print_rows
from agentic.core.errors import DuplicateNameError
from agentic.core.hooks import ENTRY_POINT_GROUP, LoadedPlugin, PluginRegistry, get_registry

OFFERS: Mapping[str, Callable[[PluginRegistry], Iterable[str]]] = {
    "platform": lambda registry: registry.platforms,
    "actor": lambda registry: {actor.name for actor in registry.actors.values()},
    "builder": lambda registry: registry.builders,
    "workflow": lambda registry: registry.workflows,
}


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
    workflows: Sequence[str]
    errors: Sequence[str]


def plugins(json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False) -> None:
    """List the installed plugins: version, distribution, hooks, what each brings, and faults.

    A broken plugin is a row with an error, never a failure of this command.
    """
    reports = describe_plugins(get_registry(), entry_points(group=ENTRY_POINT_GROUP))
    if json:
        print_json([asdict(report) for report in reports])
        return
    print_rows("Plugins", ("name", "distribution", "status", "hooks", "brings"), list(map(_row, reports)))
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
        workflows=brought["workflow"],
        errors=errors,
    )


def _row(report: PluginReport) -> dict[str, object]:
    brought = {
        "platform": report.platforms,
        "actor": report.actors,
        "builder": report.builders,
        "workflow": report.workflows,
    }
    return {
        "name": report.name,
        "distribution": f"{report.distribution} {report.version}",
        "status": report.status,
        "hooks": [hook.removeprefix("agentic_") for hook in report.hooks],
        "brings": [f"{kind} {name}" for kind, names in brought.items() for name in names],
    }

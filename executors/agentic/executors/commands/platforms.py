"""``agentic platforms``: the platforms of agents, and the faults of agents."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import print_json, print_rows
from agentic.core.cli.findings import exit_code, findings_data, print_findings
from agentic.core.hooks import ENTRY_POINT_GROUP, Finding, Platform, get_registry
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.completing import platform_names
from agentic.executors.commands.shared.options import AsJson

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

platforms = typer.Typer(help="Show platforms and check their agents.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Platform name.", autocompletion=platform_names)]


@platforms.command("list")
def list_them(*, as_json: AsJson = False) -> None:
    """List the platforms with their executor, mapper and agent config keys."""
    rows = [_row(platform) for _, platform in sorted(get_registry().platforms.items())]
    print_rows("Platforms", ["name", "config", "executor", "mapper"], rows, as_json=as_json)


@platforms.command()
def show(name: Name, *, as_json: AsJson = False) -> None:
    """Show a platform: agent config, tables, hooks of its plugin, and faults.

    With --json also the JSON Schema of the config.
    """
    platform = get_registry().platform(name)
    row = _row(platform) | {"tables": _tables(platform), **_plugin(platform)}
    findings = _findings([platform])
    if as_json:
        print_json({**row, "schema": _schema(platform), **findings_data(findings)})
        return
    facts = [{"field": key, "value": value} for key, value in row.items() if key != "config"]
    print_rows(name, ["field", "value"], facts)
    print_rows("Config of an agent", ["key", "default", "meaning"], [*_keys(platform)])
    print_findings(findings)


@platforms.command()
def schema(name: Name, *, as_json: AsJson = True) -> None:  # noqa: ARG001  # as other commands take it
    """Print the JSON Schema of a platform's config, for editors and forms."""
    print_json(_schema(get_registry().platform(name)))


@platforms.command()
def doctor(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Platforms. Default: all.", autocompletion=platform_names),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Find agents that cannot run: config, secrets, libraries, browser.

    No site is contacted. Exit code 1 if there is a fault; warnings do not count.
    """
    known = get_registry()
    chosen = [known.platform(name) for name in names or sorted(known.platforms)]
    findings = _findings(chosen)
    if as_json:
        print_json(findings_data(findings))
    else:
        print_findings(findings)
    raise typer.Exit(exit_code(findings))


def _row(platform: Platform) -> dict[str, object]:
    return {
        "name": platform.name,
        "config": list(platform.settings.model_fields) if platform.settings else [],
        "executor": platform.executor.__name__,
        "mapper": platform.mapper.__name__,
    }


def _findings(chosen: Sequence[Platform]) -> list[Finding]:
    from agentic.core.hooks.findings import findings_of
    from agentic.core.hooks.manager import DEADLINE_S
    from agentic.executors.checks.database import doctor_of

    return findings_of([(platform.name, doctor_of(platform)) for platform in chosen], DEADLINE_S)


def _schema(platform: Platform) -> dict[str, JSONValue]:
    if platform.settings is None:
        return {"type": "object", "additionalProperties": False}
    return platform.settings.model_json_schema()


def _keys(platform: Platform) -> Iterator[dict[str, object]]:
    fields = platform.settings.model_fields if platform.settings else {}
    for name, field in fields.items():
        default = "(required)" if field.is_required() else _default_of(field)
        yield {"key": name, "default": default, "meaning": field.description}


def _default_of(field: FieldInfo) -> object:
    """Return a default for people; of a part of the config its values, without those that are None."""
    from pydantic import BaseModel

    found: object = field.get_default(call_default_factory=True, validated_data={})
    return found.model_dump(exclude_none=True) if isinstance(found, BaseModel) else found


def _tables(platform: Platform) -> list[str]:
    from sqlalchemy import inspect

    return [str(inspect(model).local_table.name) for model in platform.models]


def _plugin(platform: Platform) -> dict[str, object]:
    """Return a platform's plugin, its distribution and its hooks; nothing if a script added it."""
    from agentic.core.cli.plugins import describe_plugins

    installed = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    for report in describe_plugins(get_registry(), installed):
        if platform.name in report.platforms:
            distribution = f"{report.distribution} {report.version}"
            return {"plugin": report.name, "distribution": distribution, "hooks": list(report.hooks)}
    return {}

"""``agentic doctor``: looks for what will not work, before it does not."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from agentic.core.cli.findings import exit_code, findings_data, print_findings
from agentic.core.cli.output import console, print_json
from agentic.core.hooks import Finding, get_registry
from agentic.core.settings import Settings, load_settings, safe_url


def doctor(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print facts, faults and warnings as JSON.")
    ] = False,
) -> None:
    """Check the installation, the plugins, the database, the servers and their workers.

    Exit code 1 if there is a fault; warnings do not count. Takes at most 15
    seconds, even if a server does not answer.
    """
    settings = load_settings()
    facts = _facts(settings)
    findings = [*map(Finding, namespace_faults()), *get_registry().findings()]
    if as_json:
        print_json({"facts": facts, **findings_data(findings)})
    else:
        for name, value in facts.items():
            console.print(f"{name:>10}  {value}", markup=False, highlight=False, emoji=False)
        print_findings(findings)
    raise typer.Exit(exit_code(findings))


def namespace_faults() -> Iterator[str]:
    """Name a stranger's distribution that hides ours: ``agentic`` must have no file of its own."""
    spec = importlib.util.find_spec("agentic")
    if spec is not None and spec.origin is not None:
        owners = importlib.metadata.packages_distributions().get("agentic", [])
        strangers = sorted(set(owners) - {"agentic-pipelines"})
        yield f"{spec.origin} hides parts of this project; uninstall {', '.join(strangers) or 'its owner'}"


def _facts(settings: Settings) -> dict[str, str]:
    return {
        "version": importlib.metadata.version("agentic-pipelines"),
        "python": sys.version.split()[0],
        "home": str(settings.home.absolute()),
        "project": settings.project,
        "database": safe_url(settings.database),
        "broker": safe_url(settings.broker) if settings.broker else "none (`agentic up` starts one)",
        "nats": safe_url(settings.nats) if settings.nats else "none (events stay in this process)",
        "plugins": ", ".join(sorted(get_registry().plugins)),
    }

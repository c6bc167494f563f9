"""``agentic doctor``: looks for what will not work, before it does not."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Annotated

import typer

from agentic.core.cli.findings import exit_code, findings_data, print_findings
from agentic.core.cli.output import console, print_json
from agentic.core.hooks import Finding, get_registry, warning
from agentic.core.secret_names import VARIABLE
from agentic.core.settings import PREFIX, Settings, load_settings, safe_url

_NEARLY = 0.85


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
    misspelt = map(warning, misspelt_settings(os.environ))
    findings = [*map(Finding, namespace_faults()), *misspelt, *get_registry().findings()]
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


def misspelt_settings(variables: Iterable[str]) -> Iterator[str]:
    """Name variables that are nearly settings, and therefore have no effect; plugins may read other ones."""
    known = [f"{PREFIX}{name}".upper() for name in Settings.model_fields]
    for name in sorted(variables):
        is_secret = name.startswith(VARIABLE) and name != "AGENTIC_SECRET_KEY"
        if not name.startswith(PREFIX) or name in known or is_secret:
            continue
        if near := get_close_matches(name, known, n=1, cutoff=_NEARLY):
            yield f"{name} is not a setting and has no effect; did you mean {near[0]}?"


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

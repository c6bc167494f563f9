"""Checks agents whose platform has no doctor, or is not installed."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select

from agentic.core.hooks import Finding, Platform, get_registry
from agentic.core.hooks.findings import Check
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.mappers import AgentModel, Database
from agentic.mappers.vault.keys import SecretKeys


def agent_findings(database: Database, keys: SecretKeys) -> Iterator[Finding]:
    """Check the agents that no platform's doctor checks.

    Raises:
        DatabaseUnavailableError: It cannot be opened.
    """
    with database.reading() as session:
        names = session.scalars(select(AgentModel.agent_platform).distinct()).all()
    known = get_registry().platforms
    for name in sorted(names):
        platform = known.get(name)
        if platform is None or platform.doctor is None:
            settings = None if platform is None else platform.settings
            yield from AgentsDoctor(platform=name, settings=settings).findings_in(database, keys)


def doctor_of(platform: Platform) -> Check:
    """Return the check of a platform: its own, or a general check of its agents."""
    return platform.doctor or AgentsDoctor(platform=platform.name, settings=platform.settings)

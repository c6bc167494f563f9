"""The report of ``agentic doctor`` on the Firecrawl agents."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from agentic.core.errors import SettingsError
from agentic.core.hooks import Finding
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.plugins.firecrawl.agent_settings import FirecrawlAgentSettings
from agentic.plugins.firecrawl.failures import MissingFirecrawlError
from agentic.plugins.firecrawl.settings import KEY_SECRET, place_of

PLATFORM_NAME = "firecrawl"


def _look(settings: FirecrawlAgentSettings) -> Iterator[Finding]:
    if find_spec("firecrawl") is None:
        yield Finding(f"cannot call Firecrawl: {MissingFirecrawlError()}")
    try:
        place_of(settings)
    except SettingsError as exc:
        yield Finding(f"cannot call Firecrawl: {exc}")


def _secrets(settings: FirecrawlAgentSettings) -> Iterator[str]:
    """Yield the cloud's default secret if an agent names none."""
    try:
        needs_key = settings.api_key is None and place_of(settings).is_cloud
    except SettingsError:
        return
    if needs_key:
        yield KEY_SECRET


DOCTOR = AgentsDoctor(platform=PLATFORM_NAME, settings=FirecrawlAgentSettings, look=_look, secrets=_secrets)
"""Reports agents that cannot run: invalid config, missing key, missing library. Firecrawl is not called."""

"""What ``agentic doctor`` says of web agents: what their pipelines need, and this machine has not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from agentic.core.browser import BrowserUnavailableError
from agentic.core.hooks import Finding, get_registry, warning
from agentic.core.http.transports.choice import EXTRAS
from agentic.core.pipeline import PipelineSpec, capabilities_of
from agentic.core.pipeline.expressions.secret_masking import secret_names
from agentic.core.pipeline.spec.walking import calls_of
from agentic.core.reading.extras import MissingExtraError, load
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.plugins.web.settings import WebSettings

PLATFORM_NAME = "web"
LOGIN_ACTOR = "authenticate"
LIBRARIES = {
    "article": (("trafilatura", "article"),),
    "feed": (("fastfeedparser", "feeds"), ("feedparser", "feeds")),
}
"""Actor -> its libraries, each with its extra. A JSON Schema is checked with the config."""


def _look(settings: WebSettings) -> Iterator[Finding]:
    """Tell of libraries, an HTTP client and a browser that the steps need."""
    spec = settings.spec
    for actor in sorted({get_registry().actors[name].name for name, _ in _calls(spec)}):
        for library, extra in LIBRARIES.get(actor, ()):
            yield from _library_findings(f"has a step {actor!r} that cannot run", library, extra)
    if (transport := spec.http.transport) in EXTRAS:
        yield from _library_findings("cannot fetch", transport, EXTRAS[transport])
    if "browser" in capabilities_of(spec, get_registry().actors):
        yield from _browser_findings()


def _library_findings(what: str, library: str, extra: str) -> Iterator[Finding]:
    try:
        load(library, extra)
    except MissingExtraError as exc:
        yield Finding(f"{what}: {exc}")


def _browser_findings() -> Iterator[Finding]:
    """Warn, as a worker on another machine may have a browser."""
    from agentic.executors.browser.checkup import find_browser

    try:
        asyncio.run(find_browser(load_settings().browser_path))
    except BrowserUnavailableError as exc:
        yield warning(
            f"has steps for a browser, but cannot run here: {exc}; or start workers with a browser for the "
            "queue agentic.browser"
        )


def _secrets(settings: WebSettings) -> Iterator[str]:
    """Yield the secrets that the pipeline names, and those that hold the logins of its steps."""
    spec = settings.spec
    yield from secret_names(spec.model_dump(mode="json", by_alias=True))
    for name, config in _calls(spec):
        if get_registry().actors[name].name == LOGIN_ACTOR and config.get("login") is None:
            login = config.get("credential") or config.get("platform")
            if isinstance(login, str) and "${" not in login:
                yield login


def _calls(spec: PipelineSpec) -> Iterator[tuple[str, dict[str, JSONValue]]]:
    for step in spec.steps:
        yield from calls_of(step)


DOCTOR = AgentsDoctor(platform=PLATFORM_NAME, settings=WebSettings, look=_look, secrets=_secrets)
"""Reports agents that cannot run at all, or not here. No site is contacted."""

"""A served project for tests: the real application behind its checks, in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from agentic.core.hooks import get_registry
from agentic.core.settings import load_settings
from agentic.executors.serving import Guarded, GuardRules, Listening, ServedProject, make_token, mounted
from agentic.executors.serving.opening import opened_project
from agentic.executors.serving.server import serving
from agentic.plugins.serve.app import make_app

TOKEN = make_token()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedHere:
    """A server that listens on loopback.

    Attributes:
        url: Of the server.
        project: What it shows.
        http: A client with its token.
    """

    url: str
    project: ServedProject
    http: httpx2.AsyncClient

    @property
    def api(self) -> str:
        return f"{self.url}/api/v1/projects/{self.project.name}"


@asynccontextmanager
async def served(home: Path, project: str | None = None) -> AsyncIterator[ServedHere]:
    """Serve a project of a home until the block ends."""
    settings, listening = load_settings(home=home), Listening(port=0)
    with listening.bind() as bound:
        url = listening.url(bound)
        headers = {"authorization": f"Bearer {TOKEN}"}
        async with (
            opened_project(settings, project, url=url) as opened,
            mounted(opened, get_registry()) as mounts,
            serving(Guarded(make_app(opened, mounts), GuardRules(token=TOKEN)), bound, listening),
            httpx2.AsyncClient(base_url=url, headers=headers, timeout=30) as http,
        ):
            yield ServedHere(url=url, project=opened, http=http)

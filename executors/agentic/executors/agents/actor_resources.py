"""Resources for the actors of an agent's pipelines in this process: connections, a browser, stores."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from agentic.core.browser import BrowserRequest, Politeness, RenderedPage
from agentic.core.settings import Settings

if TYPE_CHECKING:
    from agentic.core.actors import ActorContext
    from agentic.core.http import HttpPolicy
    from agentic.core.http.sessions.site_cookies import SiteCookies
    from agentic.core.types import RunId
    from agentic.executors.browser import PlaywrightBrowser
    from agentic.mappers import Database

_OPEN: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[PlaywrightBrowser, WeakSet[SharedBrowser]]] = (
    WeakKeyDictionary()
)

MAX_EXECUTIONS = 64
"""Executions whose cookies a process keeps."""

FILES = "files"
"""Folder for files of actors, in the folder of the settings."""


class SharedBrowser:
    """Implements :class:`agentic.core.browser.Browser`: one browser for each event loop.

    It starts with the first page, and ends when the last user closes it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def render(self, request: BrowserRequest, politeness: Politeness) -> RenderedPage:
        """See :meth:`agentic.core.browser.Browser.render`."""
        browser, users = self._shared()
        users.add(self)
        return await browser.render(request, politeness)

    async def aclose(self) -> None:
        """Release the browser."""
        loop = asyncio.get_running_loop()
        browser, users = _OPEN.get(loop, (None, WeakSet()))
        users.discard(self)
        if browser is not None and not users:
            del _OPEN[loop]
            await browser.aclose()

    def _shared(self) -> tuple[PlaywrightBrowser, WeakSet[SharedBrowser]]:
        loop = asyncio.get_running_loop()
        if loop not in _OPEN:
            from agentic.executors.browser import PlaywrightBrowser

            _OPEN[loop] = (PlaywrightBrowser(self._settings), WeakSet())
        return _OPEN[loop]


class ActorResources:
    """Resources for the actors of one agent.

    Args:
        database: Holds the project's data.
        project_id: Owns the agent.
        policy: Politeness and limits of requests.
        settings: The settings of this process.
    """

    def __init__(self, database: Database, project_id: str, policy: HttpPolicy, settings: Settings) -> None:
        from agentic.core.actors import ActorContext
        from agentic.core.browser import BrowserFetcher
        from agentic.core.llm.open_models import OpenModels
        from agentic.executors.project_http import ProjectHttp
        from agentic.mappers.audit import SqlAudit
        from agentic.mappers.vault.budgets import SqlBudgets
        from agentic.mappers.vault.memory import SqlMemory
        from agentic.mappers.vault.sessions import SqlSessions

        self._settings = settings
        self._project_id = project_id
        self._http = ProjectHttp(database, project_id, policy, settings)
        self._browser = SharedBrowser(settings)
        self._cookies: OrderedDict[str, SiteCookies] = OrderedDict()
        self._models = OpenModels()
        self._context = ActorContext(
            http=self._http.fetcher,
            pages=BrowserFetcher(self._http.fetcher, self._browser, secret=self._http.secrets.secret),
            secrets=self._http.secrets,
            sessions=SqlSessions(database, project_id, self._http.keys),
            memory=SqlMemory(database, project_id),
            models=self._models,
            budgets=SqlBudgets(database, project_id),
            decide=SqlAudit(database, project_id).decide,
        )

    def context(self, run_id: RunId) -> ActorContext:
        """Return the resources for a run's actors; they share the files and cookies of its execution."""
        from dataclasses import replace

        from agentic.executors.agents.files import FolderFiles

        execution_id = run_id.partition("/")[0]
        return replace(
            self._context,
            http=self._http.fetcher.with_cookies(self._cookies_of(execution_id)),
            files=FolderFiles(self._settings.home / FILES, execution_id, self._project_id),
        )

    def _cookies_of(self, execution_id: str) -> SiteCookies:
        """Return the cookies of an execution, which all its slices and runs in this process share."""
        from agentic.core.http.sessions.site_cookies import SiteCookies

        cookies = self._cookies.pop(execution_id, None) or SiteCookies()
        self._cookies[execution_id] = cookies
        if len(self._cookies) > MAX_EXECUTIONS:
            self._cookies.popitem(last=False)
        return cookies

    async def aclose(self) -> None:
        """Close all open resources, even if one fails to close."""
        async with AsyncExitStack() as stack:
            for resource in (self._http, self._browser, self._models):
                stack.push_async_callback(resource.aclose)

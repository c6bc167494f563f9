"""An agent behind HTTP: its card, JSON-RPC and REST, as one ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from a2a.server.context import ServerCallContext
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.routes.common import ServerCallContextBuilder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import BaseRoute

from agentic.plugins.a2a.nats.dispatch import NamelessUser
from agentic.plugins.a2a.serving.cards import card_of
from agentic.plugins.a2a.serving.handler import AgentRequests
from agentic.plugins.a2a.serving.service import AgentService


class CallContexts(ServerCallContextBuilder):
    """Makes the context of a request. Callers with the server's token are one caller."""

    def build(self, request: Request) -> ServerCallContext:
        """Return the context of a request: without its token."""
        headers = {key: value for key, value in request.headers.items() if key != "authorization"}
        return ServerCallContext(user=NamelessUser(), state={"headers": headers})


def agent_routes(service: AgentService, url: str) -> list[BaseRoute]:
    """Return the routes of an agent.

    Args:
        service: Of the agent; it must be running.
        url: The URL that the routes are below, for its card.
    """
    base = url.rstrip("/")
    card = card_of(service.agent, urls=[("JSONRPC", f"{base}/"), ("HTTP+JSON", base)], needs_token=True)
    handler, contexts = AgentRequests(service, card), CallContexts()
    return [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, "/", context_builder=contexts),
        *create_rest_routes(handler, context_builder=contexts),
    ]


def agent_app(service: AgentService, url: str) -> Starlette:
    """Return an application for one agent. It checks no caller: put it behind the checks of a server::

        app = Guarded(agent_app(service, url), GuardRules(token=make_token()))

    Its lifespan runs the service.

    Args:
        service: Of the agent.
        url: The URL that it is at, for its card.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        async with service.running():
            yield

    return Starlette(routes=agent_routes(service, url), lifespan=lifespan)

"""Agents for other systems, and agents of other systems: the A2A protocol, over NATS and HTTP.

Needs the extra ``a2a``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.plugins.a2a.errors import (
        A2AError,
        RemoteAddressError,
        RemoteAgentDeniedError,
        RemoteAgentError,
        RemoteAgentUnavailableError,
        RemoteTaskTimeoutError,
    )
    from agentic.plugins.a2a.http.app import agent_app
    from agentic.plugins.a2a.nats.serving import serve_agent
    from agentic.plugins.a2a.remote.proxy import ProxyAgent
    from agentic.plugins.a2a.serving.service import AgentService

__all__ = [
    "A2AError",
    "AgentService",
    "ProxyAgent",
    "RemoteAddressError",
    "RemoteAgentDeniedError",
    "RemoteAgentError",
    "RemoteAgentUnavailableError",
    "RemoteTaskTimeoutError",
    "agent_app",
    "serve_agent",
]

_HOMES = {
    **dict.fromkeys(
        (
            "A2AError",
            "RemoteAddressError",
            "RemoteAgentDeniedError",
            "RemoteAgentError",
            "RemoteAgentUnavailableError",
            "RemoteTaskTimeoutError",
        ),
        "errors",
    ),
    "AgentService": "serving.service",
    "ProxyAgent": "remote.proxy",
    "agent_app": "http.app",
    "serve_agent": "nats.serving",
}


def __getattr__(name: str) -> object:
    return loaded(__name__, _HOMES, name)

"""Agents for other systems, and agents of other systems: the A2A protocol, over NATS and HTTP.

Needs the extra ``a2a``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from agentic.core.hooks import hookimpl
from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.hooks.asgi import AsgiApp
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
    try:
        return loaded(__name__, _HOMES, name)
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] == "agentic":
            raise
        from agentic.plugins.a2a.errors import MissingA2ASdkError

        raise MissingA2ASdkError(exc.name or "") from exc


@hookimpl
def agentic_http() -> Mapping[str, Callable[[Any], AsgiApp]]:
    """Provide A2A at ``/a2a``, if its SDK is installed."""
    if find_spec("a2a") is None:
        return {}
    from agentic.plugins.a2a.http.project import project_app

    return {"a2a": project_app}

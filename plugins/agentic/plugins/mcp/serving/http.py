"""The server over streamable HTTP, behind the checks that all servers of this project share."""

from __future__ import annotations

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from agentic.executors.serving import ServedProject
from agentic.plugins.mcp.serving.server import make_server


def make_app(project: ServedProject, *, path: str = "/", is_read_only: bool = False) -> Starlette:
    """Return the application of a project; put :class:`~agentic.executors.serving.Guarded` around it.

    It keeps no sessions, so any number of processes can serve one address.

    Args:
        project: The project to show.
        path: Where it answers.
        is_read_only: Leave out the tools that start, answer or cancel anything.
    """
    server = make_server(project, is_read_only=is_read_only)
    return server.streamable_http_app(
        streamable_http_path=path,
        stateless_http=True,
        json_response=True,
        # The guard around it has a list of hosts and origins of its own.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

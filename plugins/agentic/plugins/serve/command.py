"""``agentic serve``: an HTTP server of one project."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from agentic.core.hooks import get_registry
from agentic.core.settings import Settings, load_settings
from agentic.executors.commands.shared.listening import (
    LOOPBACK,
    BehindProxy,
    HostNames,
    OnHost,
    OnPort,
    Origins,
    TlsCertificate,
    TlsKey,
    guard_rules,
    print_address,
)
from agentic.executors.commands.shared.options import InProject

if TYPE_CHECKING:
    from agentic.executors.serving import GuardRules, Listening

PORT = 8720


def serve(  # noqa: PLR0913  # one parameter for each option
    *,
    port: OnPort = PORT,
    host: OnHost = LOOPBACK,
    host_name: HostNames = None,
    allow_origin: Origins = None,
    tls_cert: TlsCertificate = None,
    tls_key: TlsKey = None,
    behind_proxy: BehindProxy = False,
    project: InProject = None,
) -> None:
    """Serve agents, workflows and pipelines of a project over HTTP, until Ctrl-C."""
    from agentic.executors.serving.errors import missing_library

    try:
        import starlette  # noqa: F401  # or the first import of a part would fail without advice
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as exc:
        raise missing_library(exc) from None
    from agentic.executors.serving.server import Listening

    settings = load_settings()
    listening = Listening(
        host=host, port=port, certificate=tls_cert, key=tls_key, is_behind_proxy=behind_proxy
    )
    rules = guard_rules(settings, host, host_name, allow_origin)
    with listening.bind() as bound:
        asyncio.run(_serve(settings, project, rules, bound, listening))


async def _serve(
    settings: Settings, project: str | None, rules: GuardRules, bound: socket.socket, listening: Listening
) -> None:
    from agentic.executors.serving.guarding import Guarded
    from agentic.executors.serving.mounts import mounted
    from agentic.executors.serving.opening import opened_project
    from agentic.executors.serving.server import serve_until_signal
    from agentic.plugins.serve.app import make_app

    url = listening.url(bound)
    async with (
        opened_project(settings, project, url=url) as served,
        mounted(served, get_registry()) as mounts,
    ):
        app = Guarded(make_app(served, mounts), rules)
        failed = [f"not served: /{mount.name}: {mount.error}" for mount in mounts if mount.error]
        print_address(settings, url, served.name, failed)
        await serve_until_signal(app, bound, listening)

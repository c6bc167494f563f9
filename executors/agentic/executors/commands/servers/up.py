"""``agentic up``: every embedded server, worker, beat and Flower under one supervisor."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated

import typer

from agentic.core.cli import console
from agentic.core.services import Service, ServiceSupervisor, nats_service, valkey_service
from agentic.core.settings import Settings, load_settings, safe_url
from agentic.executors.commands.shared.database import ready_database
from agentic.executors.workers.services import beat_service, flower_service, worker_service


def up(
    concurrency: Annotated[
        int, typer.Option("--concurrency", "-c", min=1, help="Number of agents run at once.")
    ] = 2,
    beat: Annotated[bool, typer.Option(help="Start due schedules (beat).")] = True,
    flower: Annotated[bool, typer.Option(help="Show the worker in a browser (Flower).")] = True,
) -> None:
    """Run NATS, a broker, a worker, beat and Flower until Ctrl-C.

    A server in AGENTIC_NATS_URL or AGENTIC_BROKER_URL replaces the embedded one.
    Other commands in the same folder find the servers by themselves.
    """
    settings = load_settings()
    services = embedded_servers(settings)
    services.append(worker_service(settings.home, concurrency=concurrency))
    if beat:
        services.append(beat_service(settings.home))
    if flower:
        services.append(flower_service(settings.home))
    ready_database(settings).dispose()
    console.print(f"starting {', '.join(service.name for service in services)} ...", highlight=False)

    def tell(urls: Mapping[str, str]) -> None:
        logs = settings.home.absolute() / "logs"
        where = {"database": safe_url(settings.database), **shown_urls(urls), "logs": str(logs)}
        for name, url in where.items():
            console.print(f"  {name:<9} {url}", markup=False, highlight=False, soft_wrap=True)
        console.print("ready; Ctrl-C stops everything", highlight=False)

    asyncio.run(ServiceSupervisor(settings.home, services).run_until_stopped(tell))
    console.print("stopped", highlight=False)


def shown_urls(urls: Mapping[str, str]) -> dict[str, str]:
    """Return the service URLs to print: without passwords, except Flower's on a terminal, to click on."""
    shown = {name: safe_url(url) for name, url in urls.items() if name != "nats_http"}
    if "flower" in urls:
        shown["flower"] = (
            urls["flower"] if console.is_terminal else f"{shown['flower']}  (log in: see runtime.json)"
        )
    return shown


def embedded_servers(settings: Settings) -> list[Service]:
    """Return the services of all servers that are not in the environment."""
    services = []
    if not settings.nats_url.get_secret_value():
        services.append(nats_service(settings.home))
    if not settings.broker_url.get_secret_value():
        services.append(valkey_service(settings.home))
    return services

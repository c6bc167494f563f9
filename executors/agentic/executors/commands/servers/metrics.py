"""``agentic metrics``: an exporter for Prometheus."""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console
from agentic.core.errors import AgenticError
from agentic.core.settings import load_settings
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.commands.shared.options import InProject

if TYPE_CHECKING:
    from agentic.executors.metrics.metrics import SqlCollector

PORT = 9808


class MetricsError(AgenticError):
    """Metrics cannot be shown."""


def metrics(
    *,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port to listen on.")] = PORT,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    once: Annotated[bool, typer.Option("--once", help="Print the metrics once and exit.")] = False,
    project: InProject = None,
) -> None:
    """Serve metrics of executions for Prometheus, of all projects or of one, until Ctrl-C."""
    try:
        from agentic.executors.metrics.metrics import SqlCollector, as_text
    except ModuleNotFoundError as exc:
        raise MetricsError(
            f"{exc.name} is not installed; run `pip install 'agentic-pipelines[metrics]'`"
        ) from None

    with opened(current_database(load_settings())) as database:
        collector = SqlCollector(database, project)
        if once:
            sys.stdout.write(as_text(collector))
        else:
            _serve(collector, host, port)


def _serve(collector: SqlCollector, host: str, port: int) -> None:
    """Answer at ``/metrics`` until a signal comes."""
    from prometheus_client import start_http_server

    from agentic.executors.metrics.metrics import registry_of

    try:
        server, thread = start_http_server(port, host, registry_of(collector))
    except OSError as exc:
        raise MetricsError(
            f"cannot listen on {host}:{port}: {exc.strerror}; choose another --port or --host"
        ) from exc
    is_over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: is_over.set())
    console.print(f"http://{host}:{port}/metrics; Ctrl-C stops", markup=False, highlight=False)
    is_over.wait()
    server.shutdown()
    server.server_close()
    thread.join()

"""Requests of an execution through each of several proxies, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentic.core.cli import console, print_rows
from agentic.core.http.exits.uses import ProxyUse, in_list_order
from agentic.executors.reports.scales import size

if TYPE_CHECKING:
    from rich.console import Console

    from agentic.core.types import JSONValue

SHOWN_PROXIES = 10


def proxy_data(uses: Sequence[ProxyUse]) -> dict[str, list[dict[str, JSONValue]]]:
    """Return the key ``proxies`` of JSON output; nothing without proxies."""
    return {"proxies": [use.to_dict() for use in in_list_order(uses)]} if uses else {}


def print_proxies(uses: Sequence[ProxyUse], where: Console | None = None) -> None:
    """Print the requests, bytes and failures of each proxy; of many, those with the most failures.

    Args:
        uses: The requests; without any, nothing is printed.
        where: Console; standard output by default.
    """
    if not uses:
        return
    worst = sorted(in_list_order(uses), key=lambda use: use.failed, reverse=True)[:SHOWN_PROXIES]
    rows = [_row(use) for use in in_list_order(worst)]
    print_rows("Proxies", ["proxy", "requests", "received", "failures"], rows, where=where)
    if (more := len(uses) - len(worst)) > 0:
        line = f"... and {more} more proxies with fewer failures, see --json"
        (where or console).print(line, style="dim", highlight=False)


def _row(use: ProxyUse) -> dict[str, object]:
    return {
        "proxy": use.name.removeprefix("proxy "),
        "requests": f"{use.requests:,}",
        "received": size(use.received_bytes),
        "failures": use.failures_text,
    }

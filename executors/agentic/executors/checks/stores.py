"""Checks the stores that the settings name: the budget of hosts and the checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from agentic.core.errors import AgenticError
from agentic.core.hooks import Finding, warning
from agentic.core.http import BudgetUnavailableError, open_budget
from agentic.core.http.politeness.budget import is_shareable
from agentic.core.settings import Settings, safe_url
from agentic.core.types import RunId
from agentic.executors.checkpoints import open_checkpoints
from agentic.executors.workers.celery_config import broker_in_use


def budget_findings(settings: Settings) -> Iterator[Finding]:
    """Report workers that do not share a budget, and a budget that does not answer."""
    broker = broker_in_use(settings)
    if settings.budget is not None:
        yield from _own_findings(settings.budget)
    elif broker is not None and not is_shareable(broker):
        yield warning(
            f"workers share no host budget because the broker ({safe_url(broker)}) is not Redis: each "
            "process uses the full rate of a host; set AGENTIC_BUDGET_URL to a Redis or Valkey server"
        )


def _own_findings(url: str) -> Iterator[Finding]:
    if not is_shareable(url):
        yield Finding(
            f"AGENTIC_BUDGET_URL ({safe_url(url)}) is not a Redis URL; write it as 'redis://host:6379/0'"
        )
        return
    try:
        asyncio.run(_ask_budget(url))
    except BudgetUnavailableError as exc:
        yield Finding(f"{exc}, so nothing is fetched; see AGENTIC_BUDGET_URL")
    except (TypeError, ValueError):  # of redis-py and urllib, whose messages may hold a part of the password
        yield Finding(
            f"AGENTIC_BUDGET_URL ({safe_url(url)}) is not a Redis address, so nothing is fetched; write it "
            "as 'redis://host:6379/0'"
        )


async def _ask_budget(url: str) -> None:
    budget = open_budget(url)
    try:
        await budget.take("agentic-doctor.invalid", 0)
    finally:
        await budget.aclose()


def checkpoint_findings(settings: Settings) -> Iterator[Finding]:
    """Report a checkpoint store that cannot be used, if one is named."""
    if not settings.checkpoints_url.get_secret_value():
        return
    try:
        asyncio.run(_ask_checkpoints(settings))
    except AgenticError as exc:
        yield Finding(f"{exc}; see AGENTIC_CHECKPOINTS_URL")


async def _ask_checkpoints(settings: Settings) -> None:
    async with open_checkpoints(settings) as store:
        await store.list_metadata(run_id=RunId("agentic-doctor"))

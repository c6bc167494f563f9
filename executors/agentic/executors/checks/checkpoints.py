"""Checks the checkpoint store that the settings name: whether it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from agentic.core.errors import AgenticError
from agentic.core.hooks import Finding
from agentic.core.settings import Settings
from agentic.core.types import RunId
from agentic.executors.checkpoints import open_checkpoints


def checkpoint_findings(settings: Settings) -> Iterator[Finding]:
    """Report a checkpoint store that cannot be used, if one is named."""
    if not settings.checkpoints_url.get_secret_value():
        return
    try:
        asyncio.run(_ask(settings))
    except AgenticError as exc:
        yield Finding(f"{exc}; see AGENTIC_CHECKPOINTS_URL")


async def _ask(settings: Settings) -> None:
    async with open_checkpoints(settings) as store:
        await store.list_metadata(run_id=RunId("agentic-doctor"))

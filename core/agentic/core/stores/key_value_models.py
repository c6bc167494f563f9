"""Budgets and replies of models in a bucket, for all processes that share it."""

from __future__ import annotations

import asyncio
import json

from agentic.core.bus import BusUnavailableError, KeyConflictError, KeyValue, MessageTooLargeError, token
from agentic.core.llm.budget import AccountChange, BudgetAccount, BudgetAmount
from agentic.core.logging import get_logger

log = get_logger(__name__)

FORMAT = 1
"""Of a stored budget."""

KEPT_S = 30 * 24 * 60 * 60


class KeyValueBudgetStore:
    """Implements :class:`~agentic.core.llm.BudgetStore`: each change is a compare-and-set of one key.

    If the bucket cannot be reached, a change raises :class:`~agentic.core.bus.BusUnavailableError`: no call
    is made without its reservation.

    Args:
        bucket: Of a project, such as ``bus.bucket("MODEL_BUDGETS", project="shop")``.
    """

    def __init__(self, bucket: KeyValue) -> None:
        self._bucket = bucket
        self._turn = asyncio.Lock()  # tasks of one process wait here instead of at the server

    async def load(self, name: str) -> BudgetAccount:
        """See :meth:`~agentic.core.llm.BudgetStore.load`."""
        account, _ = await self._read(name)
        return account

    async def change(self, name: str, change: AccountChange) -> BudgetAccount:
        """See :meth:`~agentic.core.llm.BudgetStore.change`."""
        async with self._turn:
            while True:
                account, revision = await self._read(name)
                changed = change(account)
                try:
                    await self._bucket.put(_budget_key(name), _written(changed), revision=revision)
                except KeyConflictError:
                    continue  # another process was faster, so the budget moves on
                return changed

    async def _read(self, name: str) -> tuple[BudgetAccount, int]:
        entry = await self._bucket.get(_budget_key(name))
        return (BudgetAccount(), 0) if entry is None else (_account(entry.value), entry.revision)


class KeyValueReplyCache:
    """Implements :class:`~agentic.core.llm.ReplyCache`.

    A bucket that cannot be reached is like an empty one. A reply that is too large for it is not kept.

    Args:
        bucket: Of a project, such as ``bus.bucket("MODEL_REPLIES", project="shop")``.
        kept_s: Seconds after which a reply is forgotten.
    """

    def __init__(self, bucket: KeyValue, *, kept_s: int = KEPT_S) -> None:
        self._bucket = bucket
        self._kept_s = kept_s

    async def load(self, key: str) -> str | None:
        """See :meth:`~agentic.core.llm.ReplyCache.load`."""
        try:
            entry = await self._bucket.get(f"reply.{key}")
        except BusUnavailableError as exc:
            log.warning("model_cache.unavailable", reason=exc.reason)
            return None
        return None if entry is None else entry.value.decode("utf-8", "replace")

    async def keep(self, key: str, text: str) -> None:
        """See :meth:`~agentic.core.llm.ReplyCache.keep`."""
        try:
            await self._bucket.put(f"reply.{key}", text.encode(), ttl_s=self._kept_s)
        except BusUnavailableError as exc:
            log.warning("model_cache.unavailable", reason=exc.reason)
        except MessageTooLargeError as exc:
            log.warning("model_cache.too_large", size_bytes=exc.size_bytes, limit_bytes=exc.limit_bytes)


def _budget_key(name: str) -> str:
    return f"budget.{token(name)}"


def _written(account: BudgetAccount) -> bytes:
    found = {
        part: {"tokens": amount.tokens, "nano_usd": amount.nano_usd}
        for part, amount in (("spent", account.spent), ("reserved", account.reserved))
    }
    return json.dumps({"format": FORMAT, **found}).encode()


def _account(stored: bytes) -> BudgetAccount:
    found = json.loads(stored)
    if found["format"] != FORMAT:
        raise ValueError(f"a budget is stored in format {found['format']}, and this version reads {FORMAT}")
    return BudgetAccount(spent=BudgetAmount(**found["spent"]), reserved=BudgetAmount(**found["reserved"]))

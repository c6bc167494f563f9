"""The accounts of budgets of models, one row for each."""

from __future__ import annotations

import json

from sqlalchemy import select
from sqlalchemy.orm import Session

from agentic.core.llm.budget import AccountChange, BudgetAccount, BudgetAmount
from agentic.core.threads import in_thread
from agentic.mappers.content import clean_text
from agentic.mappers.database.database import Database
from agentic.mappers.tables.columns import utc_now
from agentic.mappers.tables.vault import ActorMemoryModel
from agentic.mappers.vault.rows import put_row

_PARTS = ("spent", "reserved")


class SqlBudgets:
    """Implements :class:`agentic.core.llm.BudgetStore` in the memory of a project, for all its workers.

    Args:
        database: Migrated.
        project_id: Owns the accounts.
    """

    def __init__(self, database: Database, project_id: str) -> None:
        self._database = database
        self._project_id = project_id

    async def load(self, name: str) -> BudgetAccount:
        """Return an account; one without a change is empty."""
        return await in_thread(self._load, _key(name))

    async def change(self, name: str, change: AccountChange) -> BudgetAccount:
        """Replace an account by the result of ``change``; others wait for the end of its transaction."""
        return await in_thread(self._change, _key(name), change)

    def _load(self, key: str) -> BudgetAccount:
        with self._database.reading() as session:
            row = session.get(ActorMemoryModel, (self._project_id, key))
            return _account(None if row is None else row.value)

    def _change(self, key: str, change: AccountChange) -> BudgetAccount:
        with self._database.writing() as session:
            self._put(session, key, _written(BudgetAccount()), keep=("value",))
            mine = (ActorMemoryModel.project_id == self._project_id, ActorMemoryModel.key == key)
            # The row exists now, so that two processes on PostgreSQL wait for each other here.
            value = session.scalars(select(ActorMemoryModel.value).where(*mine).with_for_update()).one()
            changed = change(_account(value))
            self._put(session, key, _written(changed))
            return changed

    def _put(self, session: Session, key: str, value: str, keep: tuple[str, ...] = ()) -> None:
        row = {"project_id": self._project_id, "key": key, "updated_at": utc_now(), "value": value}
        put_row(session, ActorMemoryModel, row, keep=keep)


def _key(name: str) -> str:
    return f"model_budget:{clean_text(name)}"


def _written(account: BudgetAccount) -> str:
    amounts = {part: getattr(account, part) for part in _PARTS}
    return json.dumps(
        {part: {"tokens": one.tokens, "nano_usd": one.nano_usd} for part, one in amounts.items()}
    )


def _account(stored: str | None) -> BudgetAccount:
    if stored is None:
        return BudgetAccount()
    found = json.loads(stored)
    return BudgetAccount(spent=BudgetAmount(**found["spent"]), reserved=BudgetAmount(**found["reserved"]))

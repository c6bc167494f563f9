"""Budgets of models: an account with a cap, where each call reserves its cost before it begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from agentic.core.errors import AgenticError
from agentic.core.records import record

NANO = 1_000_000_000
"""Money is counted in whole billionths of a dollar: sums of floats would miss a cap by a rounding."""


@record(kw_only=True)
class BudgetAmount:
    """Tokens and money.

    Attributes:
        tokens: In and out.
        nano_usd: Billionths of a US dollar.
    """

    tokens: int = 0
    nano_usd: int = 0

    @classmethod
    def of(cls, tokens: int, usd: float | None) -> BudgetAmount:
        """Return an amount; money that is not known counts as none."""
        return cls(tokens=tokens, nano_usd=round((usd or 0.0) * NANO))

    @property
    def usd(self) -> float:
        """US dollars."""
        return self.nano_usd / NANO

    def __add__(self, other: BudgetAmount) -> BudgetAmount:
        return BudgetAmount(tokens=self.tokens + other.tokens, nano_usd=self.nano_usd + other.nano_usd)

    def __sub__(self, other: BudgetAmount) -> BudgetAmount:
        return BudgetAmount(tokens=self.tokens - other.tokens, nano_usd=self.nano_usd - other.nano_usd)


NOTHING = BudgetAmount()


@record(kw_only=True)
class BudgetAccount:
    """The state of a budget.

    Attributes:
        spent: By calls that have ended.
        reserved: For calls in flight, and for the calls of a killed process, which may have cost it.
    """

    spent: BudgetAmount = NOTHING
    reserved: BudgetAmount = NOTHING


class BudgetExceededError(AgenticError):
    """A budget has no room for a call; the call was not made.

    Attributes:
        budget: Name of the account.
        model: ``provider:model``.
        unit: ``usd`` or ``tokens``: the cap that would be exceeded.
        spent: By calls that have ended, in ``unit``.
        reserved: For other calls, in ``unit``.
        needed: At most, by this call, in ``unit``.
        cap: The limit, in ``unit``.
    """

    failure_class = "budget_exceeded"
    is_retriable = False

    def __init__(
        self, budget: str, model: str, unit: str, needed: float, *, account: BudgetAccount, cap: float
    ) -> None:
        spent, reserved = (_in(unit, part) for part in (account.spent, account.reserved))
        super().__init__(
            f"the budget {budget!r} has no room for a call of {model}: {_shown(unit, spent)} spent and "
            f"{_shown(unit, reserved)} reserved of {_shown(unit, cap)}, and the call may need "
            f"{_shown(unit, needed)}; raise max_{unit}, or lower max_tokens in the settings of the request"
        )
        self.budget = budget
        self.model = model
        self.unit = unit
        self.spent = spent
        self.reserved = reserved
        self.needed = needed
        self.cap = cap


class UnknownPriceError(AgenticError, LookupError):
    """A budget in money needs the price of a model, and it is not known."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"the price of {model} is not known, so a budget in US dollars cannot be kept; give it by "
            f"PricedModel(model, {{{model!r}: ModelPrice(input_usd=..., output_usd=...)}}), install "
            "'agentic-pipelines[prices]', or set max_tokens instead of max_usd"
        )
        self.model = model


AccountChange = Callable[[BudgetAccount], BudgetAccount]


class BudgetStore(Protocol):
    """Keeps the accounts of budgets.

    :class:`MemoryBudgetStore` does for one process, ``KeyValueBudgetStore`` of ``agentic.core.stores`` for
    all processes that share a bucket.
    """

    async def load(self, name: str) -> BudgetAccount:
        """Return an account; one without a change is empty."""
        ...

    async def change(self, name: str, change: AccountChange) -> BudgetAccount:
        """Replace an account by the result of ``change``, with no other change in between.

        ``change`` may be called several times. If it raises, the account stays as it is.
        """
        ...


class MemoryBudgetStore:
    """Implements :class:`BudgetStore` in the memory of a process."""

    def __init__(self) -> None:
        self._accounts: dict[str, BudgetAccount] = {}

    async def load(self, name: str) -> BudgetAccount:
        """See :meth:`BudgetStore.load`."""
        return self._accounts.get(name, BudgetAccount())

    async def change(self, name: str, change: AccountChange) -> BudgetAccount:
        """See :meth:`BudgetStore.change`."""
        changed = self._accounts[name] = change(await self.load(name))
        return changed


class Budget:
    """A cap on the use of models. Models, tasks and processes with one store and one name share an account.

    Args:
        max_usd: US dollars.
        max_tokens: Tokens in and out.
        name: Of the account; ``run-1``, or a project and a day.
        store: Where the account is kept; in this budget alone if omitted.

    Raises:
        ValueError: The cap is missing, or below 0.
    """

    def __init__(
        self,
        *,
        max_usd: float | None = None,
        max_tokens: int | None = None,
        name: str = "budget",
        store: BudgetStore | None = None,
    ) -> None:
        if max_usd is None and max_tokens is None:
            raise ValueError(f"the budget {name!r} has no cap; give max_usd, max_tokens or both")
        for option, cap in (("max_usd", max_usd), ("max_tokens", max_tokens)):
            if cap is not None and not cap >= 0:
                raise ValueError(f"{option} of the budget {name!r} is {cap}; give 0 or more")
        self.name = name
        self.max_usd = max_usd
        self.max_tokens = max_tokens
        self._store = MemoryBudgetStore() if store is None else store

    async def account(self) -> BudgetAccount:
        """Return the amounts spent and reserved."""
        return await self._store.load(self.name)

    async def reserve(self, amount: BudgetAmount, model: str) -> None:
        """Reserve an amount for a call of a model.

        Raises:
            BudgetExceededError: The cap has no room for it.
        """

        def reserved(account: BudgetAccount) -> BudgetAccount:
            self._check(account, amount, model)
            return BudgetAccount(spent=account.spent, reserved=account.reserved + amount)

        await self._store.change(self.name, reserved)

    async def settle(self, reserved: BudgetAmount, spent: BudgetAmount) -> None:
        """Replace a reservation by the cost of the call."""

        def settled(account: BudgetAccount) -> BudgetAccount:
            return BudgetAccount(spent=account.spent + spent, reserved=account.reserved - reserved)

        await self._store.change(self.name, settled)

    def _check(self, account: BudgetAccount, amount: BudgetAmount, model: str) -> None:
        total = account.spent + account.reserved + amount
        if self.max_usd is not None and total.nano_usd > round(self.max_usd * NANO):
            cap, unit = self.max_usd, "usd"
        elif self.max_tokens is not None and total.tokens > self.max_tokens:
            cap, unit = self.max_tokens, "tokens"
        else:
            return
        raise BudgetExceededError(self.name, model, unit, _in(unit, amount), account=account, cap=cap)


def _in(unit: str, amount: BudgetAmount) -> float:
    return amount.usd if unit == "usd" else amount.tokens


def _shown(unit: str, number: float) -> str:
    return f"${number:.6f}".rstrip("0").rstrip(".") if unit == "usd" else f"{number:,.0f} tokens"

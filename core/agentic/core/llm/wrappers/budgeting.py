"""Calls of a model within a budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agentic.core.errors import AgenticError, line_of
from agentic.core.finishing import finish
from agentic.core.llm.adapter import LLMAdapter, opened_stream
from agentic.core.llm.budget import NOTHING, Budget, BudgetAmount, UnknownPriceError
from agentic.core.llm.errors import CutReplyError, ModelTimeoutError
from agentic.core.llm.requests import ModelDelta, ModelReply, ModelRequest
from agentic.core.llm.tokens import TokenEstimator
from agentic.core.llm.usage import TokenUsage
from agentic.core.llm.wrappers.wrapping import ModelWrapper
from agentic.core.logging import get_logger

log = get_logger(__name__)

REPLY_TOKENS = 4_096
"""Reserved for the reply of a request without ``max_tokens``."""

_SAMPLE = TokenUsage(input_tokens=1_000, output_tokens=1_000, requests=1)


class BudgetModel(ModelWrapper):
    """Reserves the highest likely cost of a call in a budget before it, and settles the real cost after it.

    The reservation is for the input tokens, estimated, and ``max_tokens`` of the settings, or
    ``reply_tokens`` without it. So a budget is exceeded only by a call that costs more than its reservation.

    A call that fails costs nothing. One whose end is not known (timeout, broken or abandoned stream,
    cancellation) counts with its reservation, a stream with the pieces received: the provider may charge it.
    A reply without usage, as some servers give, counts with the estimate of its tokens.

    Retries belong outside: ``RetryingModel(BudgetModel(model, budget))`` reserves for each try.

    Args:
        model: The model.
        budget: May be shared with other models.
        reply_tokens: Reserved for a reply without ``max_tokens``.
        estimator: Estimates tokens; one of its own if omitted.

    Raises:
        UnknownPriceError: The budget is in US dollars, and the price of the model is not known.
    """

    def __init__(
        self,
        model: LLMAdapter | str,
        budget: Budget,
        *,
        reply_tokens: int = REPLY_TOKENS,
        estimator: TokenEstimator | None = None,
    ) -> None:
        super().__init__(model)
        if budget.max_usd is not None and self.model.cost_of(_SAMPLE) is None:
            raise UnknownPriceError(_without_price(self.model))
        self.budget = budget
        self._reply_tokens = reply_tokens
        self._estimator = TokenEstimator() if estimator is None else estimator

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See :meth:`LLMAdapter.complete`.

        Raises:
            BudgetExceededError: The budget has no room for the call.
        """
        async with self._reserved(request) as call:
            call.reply = await self.model.complete(request)
            return call.reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """See :meth:`LLMAdapter.stream`.

        Raises:
            BudgetExceededError: The budget has no room for the call.
        """
        async with self._reserved(request) as call, opened_stream(self.model, request) as deltas:
            call.received = []
            async for delta in deltas:
                call.add(delta)
                if delta.reply is not None:  # now: many readers do not come back after the last piece
                    await finish(self._settle(call))
                yield delta

    @asynccontextmanager
    async def _reserved(self, request: ModelRequest) -> AsyncGenerator[_Call, None]:
        call = self._planned(request)
        await self._reserve(call)
        try:
            yield call
        except AgenticError as exc:
            call.is_free = not (call.received or isinstance(exc, CutReplyError | ModelTimeoutError))
            raise
        finally:
            if not call.is_settled:
                await finish(self._settle(call))

    async def _reserve(self, call: _Call) -> None:
        """Reserve; a reservation that was made while the call was cancelled is taken back."""
        reserving = asyncio.ensure_future(self.budget.reserve(call.reserved, self.name))
        try:
            await asyncio.shield(reserving)
        except asyncio.CancelledError:
            await asyncio.wait([reserving])
            if not reserving.cancelled() and reserving.exception() is None:
                await finish(self.budget.settle(call.reserved, NOTHING))
            raise

    async def _settle(self, call: _Call) -> None:
        call.is_settled = True
        try:
            await self.budget.settle(call.reserved, self._spent(call))
        except AgenticError as exc:  # a reply that is paid for is not lost; its reservation keeps the cap
            log.warning("budget.unsettled", budget=self.budget.name, model=self.name, reason=line_of(exc))
        if call.reply is not None and not call.reply.is_cached:
            self._estimator.learn(call.request, call.reply.usage, self.name)

    def _planned(self, request: ModelRequest) -> _Call:
        input_tokens = self._estimator.request_tokens(request, self.name)
        reply_tokens = request.settings.max_tokens or self._reply_tokens
        return _Call(
            request=request, input_tokens=input_tokens, reserved=self._amount(input_tokens, reply_tokens)
        )

    def _spent(self, call: _Call) -> BudgetAmount:
        if call.reply is not None:
            usage = call.reply.usage
            if not (call.reply.is_cached or usage.total_tokens or usage.cost_usd):  # the server reports none
                reply_tokens = self._estimator.message_tokens(call.reply.message, self.name)
                return self._amount(call.input_tokens, reply_tokens)
            usd = usage.cost_usd if usage.cost_usd is not None else self.model.cost_of(usage)
            return BudgetAmount.of(usage.total_tokens, usd)
        if call.is_free:
            return NOTHING
        if call.received is None:
            return call.reserved
        text = "".join(call.received)
        return self._amount(call.input_tokens, self._estimator.text_tokens(text, self.name))

    def _amount(self, input_tokens: int, output_tokens: int) -> BudgetAmount:
        usage = TokenUsage(input_tokens=input_tokens, output_tokens=output_tokens, requests=1)
        return BudgetAmount.of(usage.total_tokens, self.model.cost_of(usage))


@dataclass(slots=True)
class _Call:
    """A call in flight.

    Attributes:
        request: The request.
        input_tokens: Estimated.
        reserved: In the budget.
        reply: The whole reply, once it is there.
        received: The pieces of a stream so far; None if it is not a stream.
        is_free: Whether it failed, so that it costs nothing.
        is_settled: Whether its cost has replaced its reservation.
    """

    request: ModelRequest
    input_tokens: int
    reserved: BudgetAmount
    reply: ModelReply | None = None
    received: list[str] | None = None
    is_free: bool = False
    is_settled: bool = False

    def add(self, delta: ModelDelta) -> None:
        arguments = delta.tool_call.arguments if delta.tool_call else ""
        if self.received is not None and (piece := delta.thinking + delta.text + arguments):
            self.received.append(piece)
        self.reply = delta.reply or self.reply


def _without_price(model: LLMAdapter) -> str:
    """Return the name of the model, or of the wrapped model, whose price is not known."""
    wrapped = model.models if isinstance(model, ModelWrapper) else ()
    for inner in wrapped:
        if inner.cost_of(_SAMPLE) is None:
            return _without_price(inner)
    return model.name

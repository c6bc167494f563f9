"""Retries of failed requests, in one place for all providers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable

from agentic.core.graph.model.policies import RetryPolicy, delay_before_retry
from agentic.core.llm.adapter import LLMAdapter, opened_stream
from agentic.core.llm.errors import ModelError
from agentic.core.llm.requests import ModelDelta, ModelReply, ModelRequest
from agentic.core.llm.wrappers.wrapping import ModelWrapper
from agentic.core.logging import get_logger

log = get_logger(__name__)

MODEL_RETRIES = RetryPolicy(max_attempts=4, first_delay_s=1.0, retry_on=(ModelError,))
"""Four tries within about 7 seconds, or after the delay that the provider asks for, at most a minute."""

Sleep = Callable[[float], Awaitable[object]]


class RetryingModel(ModelWrapper):
    """Retries errors of a model that are retriable; respects the delay that the provider asks for.

    A stream that breaks is retried from its beginning. If its reader has already received pieces, the next
    piece is ``ModelDelta(restarted=True)``: those before it do not count.

    Args:
        model: The model.
        policy: How often, and after which delays. Only errors of models are retried, whatever it says.
        sleep: Waits for a delay in seconds.
    """

    def __init__(
        self, model: LLMAdapter | str, policy: RetryPolicy = MODEL_RETRIES, *, sleep: Sleep = asyncio.sleep
    ) -> None:
        super().__init__(model)
        self.policy = policy
        self._sleep = sleep

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See :meth:`LLMAdapter.complete`; the error of the last try is raised."""
        attempt = 1
        while True:
            try:
                return await self.model.complete(request)
            except ModelError as exc:
                await self._pause(attempt, exc)
            attempt += 1

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """See :meth:`LLMAdapter.stream`; the error of the last try is raised."""
        attempt = 1
        while True:
            has_begun = False
            try:
                async with opened_stream(self.model, request) as deltas:
                    async for delta in deltas:
                        has_begun = True
                        yield delta
            except ModelError as exc:
                delay_s = self._delay(attempt, exc)
            else:
                return
            if has_begun:
                yield ModelDelta(restarted=True)
            await self._sleep(delay_s)
            attempt += 1

    async def _pause(self, attempt: int, error: ModelError) -> None:
        await self._sleep(self._delay(attempt, error))

    def _delay(self, attempt: int, error: ModelError) -> float:
        """Return the seconds before the next try; raises the error after the last one."""
        delay_s = delay_before_retry(self.policy, attempt, error, random.random())  # noqa: S311  # jitter
        if delay_s is None:
            raise error
        log.warning(
            "model.retried",
            model=self.name,
            attempt=attempt + 1,
            wait_s=round(delay_s, 3),
            failure_class=error.failure_class,
        )
        return delay_s

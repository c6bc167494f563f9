"""Other models for the time that one does not reply."""

from __future__ import annotations

from collections.abc import AsyncIterator

from agentic.core.llm.adapter import LLMAdapter, opened_stream
from agentic.core.llm.errors import (
    ModelAuthError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    QuotaExhaustedError,
    RateLimitedError,
    UnknownModelError,
)
from agentic.core.llm.requests import ModelDelta, ModelReply, ModelRequest
from agentic.core.llm.wrappers.wrapping import ModelWrapper, naming, naming_delta
from agentic.core.logging import get_logger

log = get_logger(__name__)

FALLBACK_ON: tuple[type[Exception], ...] = (
    RateLimitedError,
    OverloadedError,
    ModelTimeoutError,
    ModelConnectionError,
    QuotaExhaustedError,
    ModelAuthError,
    UnknownModelError,
)
"""Errors of one provider. A refused content or a bad request is the same everywhere, and is not sent on."""


class FallbackModel(ModelWrapper):
    """Asks the next model if one fails; ``ModelReply.replied_by`` names the one that replied.

    Retries belong inside: ``FallbackModel(RetryingModel(first), RetryingModel(second))``. A stream that
    breaks begins again with the next model, after ``ModelDelta(restarted=True)`` if pieces were received.

    If all fail, the first error that is retriable is raised, else the first one; its notes have the others.

    Args:
        models: In the order of preference.
        on: The errors after which the next model is asked.

    Raises:
        ValueError: No model is given.
    """

    def __init__(self, *models: LLMAdapter | str, on: tuple[type[Exception], ...] = FALLBACK_ON) -> None:
        if not models:
            raise ValueError("FallbackModel needs at least one model")
        super().__init__(*models)
        self.on = on

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See :meth:`LLMAdapter.complete`."""
        errors: list[Exception] = []
        for model in self.models:
            try:
                return naming(await model.complete(request), model)
            except self.on as exc:
                self._failed(exc, errors)
        raise _to_raise(errors)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """See :meth:`LLMAdapter.stream`."""
        errors: list[Exception] = []
        has_begun = False
        for model in self.models:
            if has_begun:
                yield ModelDelta(restarted=True)
                has_begun = False
            try:
                async with opened_stream(model, request) as deltas:
                    async for delta in deltas:
                        has_begun = True
                        yield naming_delta(delta, model)
            except self.on as exc:
                self._failed(exc, errors)
            else:
                return
        raise _to_raise(errors)

    def _failed(self, error: Exception, errors: list[Exception]) -> None:
        following = self.models[len(errors) + 1 :]
        log.warning(
            "model.failed",
            model=self.models[len(errors)].name,
            next_model=following[0].name if following else None,
            failure_class=getattr(error, "failure_class", type(error).__name__),
        )
        errors.append(error)


def _to_raise(errors: list[Exception]) -> Exception:
    retriable = [error for error in errors if isinstance(error, ModelError) and error.is_retriable]
    raised = (retriable or errors)[0]
    for other in errors:
        if other is not raised:
            raised.add_note(f"another model failed, too: {other}")
    return raised

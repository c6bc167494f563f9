"""A model of pydantic-ai behind our port."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping

from pydantic_ai import exceptions
from pydantic_ai import messages as theirs
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model, infer_model

from agentic.core.llm import errors as ours
from agentic.core.llm.adapter import ModelCapabilities
from agentic.core.llm.adapting import StreamAdapter, clean
from agentic.core.llm.requests import ModelDelta, ModelRequest, ToolCallChunk
from agentic.core.masking import mask_known
from agentic.plugins.pydantic_ai.messages import (
    messages_of,
    parameters_of,
    reply_of,
    settings_of,
    written_arguments,
)

# The first class that fits counts.
CLASSES: Mapping[type[Exception], type[ours.ModelError]] = {
    exceptions.ModelRateLimitError: ours.RateLimitedError,
    exceptions.ModelQuotaExceededError: ours.QuotaExhaustedError,
    exceptions.ModelTimeoutError: ours.ModelTimeoutError,
    exceptions.ModelRequestTimeout: ours.ModelTimeoutError,
    exceptions.ModelConnectionError: ours.ModelConnectionError,
    exceptions.ModelUnavailableError: ours.OverloadedError,
    exceptions.ModelServerError: ours.OverloadedError,
    exceptions.ModelContextWindowExceededError: ours.ContextWindowExceededError,
    exceptions.ModelAuthenticationError: ours.ModelAuthError,
    exceptions.ModelNotFoundError: ours.UnknownModelError,
    exceptions.ModelRequestRejectedError: ours.BadModelRequestError,
    exceptions.ContentFilterError: ours.ContentRefusedError,
    exceptions.UnexpectedModelBehavior: ours.SchemaNotMetError,
    exceptions.UserError: ours.BadModelRequestError,
}


class PydanticAIModel(StreamAdapter):
    """A model of pydantic-ai, asked through ``pydantic_ai.direct``. Replies are always streamed.

    Signatures and ids of thoughts go back unchanged, to the same model only. Its retries are turned off where
    pydantic-ai can do that: wrappers of this project retry in one place.

    Args:
        model: A model object, or its name at pydantic-ai.
        context_tokens: Size of the model's window, if known.

    Raises:
        ValueError: pydantic-ai cannot make this model.
    """

    def __init__(self, model: Model | str, *, context_tokens: int | None = None) -> None:
        try:
            self._model = infer_model(model)
        except exceptions.UserError as exc:
            raise ValueError(f"pydantic-ai cannot make the model {model!r}: {mask_known(str(exc))}") from None
        self.name = f"pydantic_ai:{self._model.system}:{self._model.model_name}"
        is_native = self._model.profile.get("supports_json_schema_output", False)
        self.capabilities = ModelCapabilities(
            structured="native" if is_native else "tool", context_tokens=context_tokens
        )

    async def pieces(self, request: ModelRequest) -> AsyncGenerator[ModelDelta]:
        """Yield the pieces of the reply."""
        calls: dict[int, int] = {}
        async with model_request_stream(
            self._model,
            messages_of(request, self.name),
            model_settings=settings_of(request),
            model_request_parameters=parameters_of(request),
        ) as stream:
            async for event in stream:
                for delta in _deltas(event, calls):
                    yield delta
            response = stream.get()
        yield ModelDelta(reply=reply_of(response, self.name))

    def error_for(self, exc: Exception) -> ours.ModelError | None:
        """Return the error for an exception of pydantic-ai."""
        cls = next((found for kind, found in CLASSES.items() if isinstance(exc, kind)), None)
        if cls is None and not isinstance(exc, exceptions.AgentRunError | exceptions.UserError):
            return None
        return (cls or ours.ModelError)(
            self.name,
            clean(str(exc)),
            status=getattr(exc, "status_code", None),
            retry_after_s=getattr(exc, "retry_after", None),
        )


def _deltas(event: object, calls: dict[int, int]) -> Iterator[ModelDelta]:
    match event:
        case theirs.PartStartEvent(part=theirs.TextPart(content=text)) if text:
            yield ModelDelta(text=text)
        case theirs.PartStartEvent(part=theirs.ThinkingPart(content=text)) if text:
            yield ModelDelta(thinking=text)
        case theirs.PartStartEvent(index=index, part=theirs.ToolCallPart() as call):
            number = calls.setdefault(index, len(calls))
            text = written_arguments(call) if call.args else ""
            chunk = ToolCallChunk(index=number, id=call.tool_call_id, name=call.tool_name, arguments=text)
            yield ModelDelta(tool_call=chunk)
        case theirs.PartDeltaEvent(delta=theirs.TextPartDelta(content_delta=text)) if text:
            yield ModelDelta(text=text)
        case theirs.PartDeltaEvent(delta=theirs.ThinkingPartDelta(content_delta=str(text))) if text:
            yield ModelDelta(thinking=text)
        case theirs.PartDeltaEvent(index=index, delta=theirs.ToolCallPartDelta(args_delta=str(text))) if text:
            yield ModelDelta(tool_call=ToolCallChunk(index=calls.get(index, 0), arguments=text))
        case _:
            return

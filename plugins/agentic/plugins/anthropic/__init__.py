"""Models of Anthropic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    from httpx2 import AsyncClient

    from agentic.core.llm.adapter import LLMAdapter, StructuredMode


@hookimpl
def agentic_models() -> Mapping[str, Callable[..., LLMAdapter]]:
    """Provide the models ``anthropic:NAME``."""
    return {"anthropic": anthropic_model}


def anthropic_model(
    model: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    http_client: AsyncClient | None = None,
    structured: StructuredMode = "native",
    context_tokens: int | None = None,
) -> LLMAdapter:
    """Return a model of Anthropic.

    Args:
        model: Its name at Anthropic.
        api_key: By default ``ANTHROPIC_API_KEY``; sent to Anthropic and to ``ANTHROPIC_BASE_URL`` only.
        base_url: Another server with the same API; private hosts need no key.
        http_client: The client to send with; its user closes it.
        structured: How to bind the model to a schema: ``"tool"`` for recursive schemas and free keys.
        context_tokens: Size of the model's window, if known.

    Raises:
        MissingSdkError: The extra ``anthropic`` is not installed.
        MissingKeyError: The server needs a key that was not found.
    """
    from agentic.core.llm.errors import MissingSdkError

    try:
        from agentic.plugins.anthropic.adapter import AnthropicModel
    except ModuleNotFoundError as exc:
        raise MissingSdkError("anthropic", "anthropic") from exc
    from agentic.core.llm.adapter import ModelCapabilities

    return AnthropicModel(
        model,
        api_key=api_key,
        base_url=base_url,
        http_client=http_client,
        capabilities=ModelCapabilities(structured=structured, context_tokens=context_tokens),
    )

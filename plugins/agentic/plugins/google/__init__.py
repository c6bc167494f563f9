"""Gemini, the models of Google."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    from httpx2 import AsyncClient

    from agentic.core.llm.adapter import LLMAdapter, StructuredMode


@hookimpl
def agentic_models() -> Mapping[str, Callable[..., LLMAdapter]]:
    """Provide the models ``google:NAME``."""
    return {"google": google_model}


def google_model(
    model: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    http_client: AsyncClient | None = None,
    structured: StructuredMode = "native",
    context_tokens: int | None = None,
) -> LLMAdapter:
    """Return a model of Google.

    Args:
        model: Its name at Google, such as ``gemini-3-pro``.
        api_key: By default ``GEMINI_API_KEY`` or ``GOOGLE_API_KEY``; sent to Google only.
        base_url: Another server with the same API; private hosts need no key.
        http_client: The client to send with; its user closes it.
        structured: How to bind the model to a schema: ``"tool"`` for Gemini 2 with tools.
        context_tokens: Size of the model's window, if known.

    Raises:
        MissingSdkError: The extra ``google`` is not installed.
        MissingKeyError: The server needs a key that was not found.
    """
    from agentic.core.llm.errors import MissingSdkError

    try:
        from agentic.plugins.google.adapter import GoogleModel
    except ImportError as exc:  # the namespace package google may be there without it
        raise MissingSdkError("google", "google") from exc
    from agentic.core.llm.adapter import ModelCapabilities

    return GoogleModel(
        model,
        api_key=api_key,
        base_url=base_url,
        http_client=http_client,
        capabilities=ModelCapabilities(structured=structured, context_tokens=context_tokens),
    )

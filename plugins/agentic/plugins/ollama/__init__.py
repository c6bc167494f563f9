"""Models that Ollama serves, on this machine or another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport

    from agentic.core.llm.adapter import LLMAdapter, StructuredMode


@hookimpl
def agentic_models() -> Mapping[str, Callable[..., LLMAdapter]]:
    """Provide the models ``ollama:NAME``."""
    return {"ollama": ollama_model}


def ollama_model(
    model: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    transport: AsyncBaseTransport | None = None,
    structured: StructuredMode = "native",
    context_tokens: int | None = None,
) -> LLMAdapter:
    """Return a model that Ollama serves.

    Args:
        model: Its name, such as ``llama3.2:1b``.
        api_key: Only for servers that want one; ``OLLAMA_API_KEY`` is sent to ``ollama.com`` only.
        base_url: The server; by default ``OLLAMA_HOST``, or port 11434 of this machine.
        transport: The transport of httpx to send with.
        structured: How to bind the model to a schema.
        context_tokens: Size of the window that the server gives the model, if known.

    Raises:
        MissingSdkError: The extra ``ollama`` is not installed.
    """
    from agentic.core.llm.errors import MissingSdkError

    try:
        from agentic.plugins.ollama.adapter import OllamaModel
    except ModuleNotFoundError as exc:
        raise MissingSdkError("ollama", "ollama") from exc
    from agentic.core.llm.adapter import ModelCapabilities

    return OllamaModel(
        model,
        api_key=api_key,
        base_url=base_url,
        transport=transport,
        capabilities=ModelCapabilities(structured=structured, context_tokens=context_tokens),
    )

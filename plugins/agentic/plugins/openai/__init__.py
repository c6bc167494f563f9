"""Models of OpenAI, and of servers with its chat completions API: vLLM, LM Studio, OpenRouter, llama.cpp."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    from httpx2 import AsyncClient

    from agentic.core.agents import Embedder
    from agentic.core.llm.adapter import LLMAdapter, StructuredMode


@hookimpl
def agentic_models() -> Mapping[str, Callable[..., LLMAdapter]]:
    """Provide the models ``openai:NAME``."""
    return {"openai": openai_model}


def openai_model(
    model: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    http_client: AsyncClient | None = None,
    structured: StructuredMode = "native",
    context_tokens: int | None = None,
) -> LLMAdapter:
    """Return a model behind the chat completions API.

    Args:
        model: Its name at the server.
        api_key: By default ``OPENAI_API_KEY``, which is sent to OpenAI and to ``OPENAI_BASE_URL`` only.
        base_url: Another server, such as ``http://localhost:8000/v1``; private hosts need no key.
        http_client: The client to send with; its user closes it.
        structured: How to bind the model to a schema: ``"tool"`` or ``"prompt"`` for servers that cannot.
        context_tokens: Size of the model's window, if known.

    Raises:
        MissingSdkError: The extra ``openai`` is not installed.
        MissingKeyError: The server needs a key that was not found.
    """
    from agentic.core.llm.errors import MissingSdkError

    try:
        from agentic.plugins.openai.adapter import OpenAIModel
    except ModuleNotFoundError as exc:
        raise MissingSdkError("openai", "openai") from exc
    from agentic.core.llm.adapter import ModelCapabilities

    return OpenAIModel(
        model,
        api_key=api_key,
        base_url=base_url,
        http_client=http_client,
        capabilities=ModelCapabilities(structured=structured, context_tokens=context_tokens),
    )


def openai_embedder(
    model: str,
    *,
    dimension: int,
    shortens: bool = False,
    api_key: str | None = None,
    base_url: str | None = None,
    http_client: AsyncClient | None = None,
) -> Embedder:
    """Return an embedder behind the embeddings API, of OpenAI or of a server that has the same.

    Args:
        model: Its name at the server, such as ``text-embedding-3-small``.
        dimension: How many numbers its vectors have.
        shortens: Whether to ask the server for vectors of that length; not every model can shorten them.
        api_key: By default ``OPENAI_API_KEY``, which is sent to OpenAI and to ``OPENAI_BASE_URL`` only.
        base_url: Another server, such as ``http://localhost:11434/v1``; private hosts need no key.
        http_client: The client to send with; its user closes it.

    Raises:
        MissingSdkError: The extra ``openai`` is not installed.
        MissingKeyError: The server needs a key that was not found.
    """
    from agentic.core.llm.errors import MissingSdkError

    try:
        from agentic.plugins.openai.embedder import OpenAIEmbedder
    except ModuleNotFoundError as exc:
        raise MissingSdkError("openai", "openai") from exc
    from agentic.plugins.openai.adapter import OpenAIModel

    server = OpenAIModel(model, api_key=api_key, base_url=base_url, http_client=http_client)
    return OpenAIEmbedder(server, dimension=dimension, shortens=shortens)

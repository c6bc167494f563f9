"""Models by name: ``llm("openai:NAME")``; plugins bring the providers, by the hook ``agentic_models``."""

from __future__ import annotations

import inspect
from typing import Any

from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.errors import UnknownProviderError


def as_model(given: LLMAdapter | str) -> LLMAdapter:
    """Return a model, or the one with a name; see :func:`llm`.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(given, str):
        return llm(given)
    if not isinstance(given, LLMAdapter):
        raise TypeError(
            f"a model is an LLMAdapter or its name ('provider:name'), not {type(given).__name__}; "
            "LangChainModel and PydanticAIModel make one of a model of those libraries"
        )
    return given


def llm(name: str, **options: Any) -> LLMAdapter:  # noqa: ANN401  # a plugin decides them
    """Return a model by its name.

    Args:
        name: ``provider:model``, such as ``"ollama:llama3.2"``.
        options: Arguments of the provider's adapter: ``api_key``, ``base_url``, ``http_client``, ...

    Raises:
        UnknownProviderError: No plugin provides models under that name.
        MissingSdkError: The provider's library is not installed.
        MissingKeyError: The provider needs a key.
        TypeError: The provider does not know an option.
    """
    from agentic.core.hooks import get_registry  # 0.02 s, for models by name only

    provider, colon, model = name.partition(":")
    factory = get_registry().models.get(provider) if colon and model else None
    if factory is None:
        raise UnknownProviderError(provider if colon else name, sorted(get_registry().models))
    known = inspect.signature(factory).parameters
    for option in options:
        if option not in known:
            raise TypeError(
                f"models of {provider!r} have no option {option!r} (known: {', '.join(list(known)[1:])})"
            )
    return factory(model, **options)

"""Models of pydantic-ai as models of this project: a bridge, for providers that have no adapter here.

``llm("pydantic_ai:groq:llama-3.3-70b-versatile")``: after ``pydantic_ai:``, its own name of the model.
A model object of pydantic-ai is given to :class:`PydanticAIModel`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl
from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.llm.adapter import LLMAdapter
    from agentic.plugins.pydantic_ai.model import PydanticAIModel

_HOMES = {"PydanticAIModel": "model"}

__all__ = ["PydanticAIModel"]


@hookimpl
def agentic_models() -> Mapping[str, Callable[..., LLMAdapter]]:
    """Provide the models ``pydantic_ai:PROVIDER:NAME``."""
    return {"pydantic_ai": pydantic_ai_model}


def pydantic_ai_model(model: str, *, context_tokens: int | None = None) -> LLMAdapter:
    """Return a model of pydantic-ai, which finds key and address in its own way.

    Args:
        model: Its provider and name, such as ``groq:llama-3.3-70b-versatile``.
        context_tokens: Size of the model's window, if known.

    Raises:
        MissingSdkError: The extra ``pydantic-ai`` is not installed.
        ValueError: pydantic-ai cannot make this model.
    """
    from agentic.core.llm.errors import MissingSdkError

    try:
        from agentic.plugins.pydantic_ai.model import PydanticAIModel
    except ModuleNotFoundError as exc:
        raise MissingSdkError("pydantic_ai", "pydantic-ai") from exc
    return PydanticAIModel(model, context_tokens=context_tokens)


def __getattr__(name: str) -> object:
    return loaded(__name__, _HOMES, name)

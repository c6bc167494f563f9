"""Chat models of LangChain as models of this project: a bridge, for models that have no adapter here.

from langchain_mistralai import ChatMistralAI
from agentic.plugins.langchain import LangChainModel

model = LangChainModel(ChatMistralAI(model="mistral-large-latest", max_retries=0))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded
from agentic.core.llm.errors import MissingSdkError

if TYPE_CHECKING:
    from agentic.plugins.langchain.model import LangChainModel

_HOMES = {"LangChainModel": "model"}

__all__ = ["LangChainModel"]


def __getattr__(name: str) -> object:
    try:
        return loaded(__name__, _HOMES, name)
    except ModuleNotFoundError as exc:
        raise MissingSdkError("langchain", "langchain") from exc

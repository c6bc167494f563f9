"""Bridges to LangChain: its chat models and tools as ours, and ours as its.

from langchain_mistralai import ChatMistralAI
from agentic.plugins.langchain import AgenticChatModel, AgenticTool, LangChainModel, LangChainTool

model = LangChainModel(ChatMistralAI(model="mistral-large-latest", max_retries=0))   # for our agents
tool = LangChainTool(search)
chat_model = AgenticChatModel(adapter=llm("openai:NAME"))                            # for LangGraph
tools = [AgenticTool.of(fetch_price)]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded
from agentic.core.llm.errors import MissingSdkError

if TYPE_CHECKING:
    from agentic.plugins.langchain.chat_model import AgenticChatModel
    from agentic.plugins.langchain.model import LangChainModel
    from agentic.plugins.langchain.tools import AgenticTool, LangChainTool

_HOMES = {
    "AgenticChatModel": "chat_model",
    "AgenticTool": "tools",
    "LangChainModel": "model",
    "LangChainTool": "tools",
}

__all__ = ["AgenticChatModel", "AgenticTool", "LangChainModel", "LangChainTool"]


def __getattr__(name: str) -> object:
    try:
        return loaded(__name__, _HOMES, name)
    except ModuleNotFoundError as exc:
        raise MissingSdkError("langchain", "langchain") from exc

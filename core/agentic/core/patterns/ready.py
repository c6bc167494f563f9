"""Group chats that are ready to use. Each is a builder: change what you like, then ``build()``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentic.core.agents.agent import Agent
from agentic.core.agents.chat_agent import ChatAgent
from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.messages import ChatMessage
from agentic.core.patterns.group_chat import GroupChatBuilder
from agentic.core.patterns.selectors import round_robin_selector, smart_selector
from agentic.core.patterns.terminations import keyword_termination

Model = LLMAdapter | str


def code_review(model: Model, name: str = "code-review") -> GroupChatBuilder:
    """Return a chat of a coder and a reviewer, in turn, until the reviewer approves; at most 10 turns.

    Args:
        model: For both, or its name.
        name: Of the workflow.
    """
    people = {
        "coder": "You write code. Give the whole code each time, with all remarks of the reviewer mended.",
        "reviewer": "You review code: faults first, each with its line and a way to mend it. If nothing is "
        "left to mend, answer APPROVED. Use this word for nothing else.",
    }
    approved = keyword_termination("approved", author="reviewer")
    chat = _chat(model, name, people).with_orchestrator_func(round_robin_selector)
    return chat.with_termination_condition(approved).with_max_iterations(10)


def brainstorming(model: Model, name: str = "brainstorming") -> GroupChatBuilder:
    """Return a chat of a creative, an analyst and a critic, whom a moderator gives at most 12 turns.

    Args:
        model: For all four, or its name.
        name: Of the workflow.
    """
    moderator = _agent(
        model,
        "moderator",
        "You moderate a brainstorming. Give everybody turns. When the ideas no longer get better, end it "
        "with the best three as the final message.",
    )
    people = {
        "creative": "You have ideas, unusual ones too. Give three, a sentence each.",
        "analyst": "You work out the effort, the risks and the measures of the ideas.",
        "critic": "You find the weakest point of each idea, and what would mend it.",
    }
    return _chat(model, name, people).with_orchestrator_agent(moderator).with_max_iterations(12)


def research_qa(model: Model, name: str = "research-qa") -> GroupChatBuilder:
    """Return a chat of a researcher, who collects facts, and a synthesizer, who answers. At most 6 turns.

    Args:
        model: For both, or its name.
        name: Of the workflow.
    """
    people = {
        "researcher": "You collect facts that answer the question, with their sources. When you have them "
        "all, end with: research complete.",
        "synthesizer": "You answer the question from the facts of the researcher alone, with their sources.",
    }
    chat = _chat(model, name, people).with_orchestrator_func(smart_selector)
    return chat.with_termination_condition(synthesizer_answered).with_max_iterations(6)


def content_creation(model: Model, name: str = "content-creation") -> GroupChatBuilder:
    """Return a chat of a writer, an editor and a fact checker, in turn; 6 turns.

    Args:
        model: For all three, or its name.
        name: Of the workflow.
    """
    people = {
        "writer": "You write the text; give the whole text each time.",
        "editor": "You edit the last text: shorter, clearer. Give the whole text.",
        "fact-checker": "You check each claim of the last text, and list those that need a change.",
    }
    chat = _chat(model, name, people)
    return chat.with_orchestrator_func(round_robin_selector).with_max_iterations(6)


def synthesizer_answered(said: Sequence[ChatMessage]) -> bool:
    """Whether the synthesizer has spoken."""
    return any(one.author_name == "synthesizer" for one in said)


def _chat(model: Model, name: str, people: Mapping[str, str]) -> GroupChatBuilder:
    """Return a chat of agents, by name, with their instructions."""
    agents = [_agent(model, person, instructions) for person, instructions in people.items()]
    return GroupChatBuilder(name).participants(agents)


def _agent(model: Model, name: str, instructions: str) -> Agent[Any]:
    return ChatAgent(model, instructions, name=name, description=instructions.partition(". ")[0])

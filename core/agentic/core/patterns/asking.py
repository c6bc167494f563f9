"""Asks an agent in the name of an executor: its replies are effects of the executor's activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agentic.core.agents.agent import Agent
from agentic.core.agents.executor import AgentExecutor
from agentic.core.agents.journal import PartJournal, ThreadJournal
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import AgentInput
from agentic.core.agents.responses import AgentResponse, Emit
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.graph import WorkflowContext
from agentic.core.llm.messages import ChatMessage


class _Asked(AgentExecutor):
    """An agent whose answer has a type, and whose effects have keys of their own.

    Args:
        agent: The agent.
        part: Begins the keys: several questions may be asked in one activation.
        output_type: The type of the answer; the agent's own if None.
    """

    def __init__(self, agent: Agent[Any], part: str, output_type: object) -> None:
        super().__init__(agent, id=agent.name)
        self.part = part
        self.output_type = output_type

    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[Any]:
        """Take the turn."""
        journal = PartJournal(options.journal or ThreadJournal(), self.part)
        options = replace(options, journal=journal, output_type=self.output_type)
        return await super().respond(given, thread, options, emit)


async def ask(
    agent: Agent[Any],
    messages: Sequence[ChatMessage],
    ctx: WorkflowContext[Any, Any],
    *,
    output_type: object = None,
    part: str = "asked.",
) -> AgentResponse[Any]:
    """Return the answer of an agent to messages.

    Args:
        agent: The agent.
        messages: For it.
        ctx: Of the activation that asks.
        output_type: The type of the answer, which is in ``data`` as JSON.
        part: Names the question within the activation.

    Raises:
        AgentStoppedError: It stopped before its answer.
    """
    answer = await _Asked(agent, part, output_type).on_messages(list(messages), ctx)
    return answer.agent_response

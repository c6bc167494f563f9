"""Agents as tools of other agents."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from agentic.core.agents.conversation import from_agent
from agentic.core.agents.errors import ToolError
from agentic.core.agents.options import RunOptions
from agentic.core.agents.responses import AgentChunk, AgentResponse, AgentStoppedError, ResponseStatus
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.agents.tools.tool import Approval, Tool, ToolContext
from agentic.core.llm.messages import ChatMessage
from agentic.core.types import JSONValue


class Answering(Protocol):
    """The parts of an agent that a tool needs."""

    name: str
    description: str

    def new_thread(self, *, user_id: str | None = None) -> AgentThread:
        """Return an empty thread."""
        ...

    async def respond(
        self,
        given: ChatMessage,
        thread: AgentThread,
        options: RunOptions,
        emit: Callable[[AgentChunk], Awaitable[None]],
        /,
    ) -> AgentResponse[Any]:
        """Take a turn."""
        ...


class AgentTool(Tool):
    """An agent as a tool: each call is a conversation of its own, and its pieces are seen through the caller.

    Args:
        agent: The agent.
        name: The agent's if omitted.
        description: The agent's if omitted.
        approval: Whether a person must approve a call.
    """

    def __init__(
        self,
        agent: Answering,
        *,
        name: str | None = None,
        description: str | None = None,
        approval: Approval = "never",
    ) -> None:
        task: dict[str, JSONValue] = {"type": "string", "description": "The task, complete in itself."}
        super().__init__(
            name or agent.name,
            description or agent.description or f"Ask the agent {agent.name}.",
            {
                "type": "object",
                "properties": {"task": task},
                "required": ["task"],
                "additionalProperties": False,
            },
            approval=approval,
        )
        self.agent = agent

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue:
        """Run the agent and return its output; see :class:`Tool`."""
        task = arguments.get("task")
        if not isinstance(task, str):
            raise ToolError("the argument 'task' must be a text")
        options = RunOptions(
            path=context.path,
            facts=context.facts,
            journal=context.journal,
            idempotency_key="task",
            outer_limit=context.limit_reached,
        )
        thread = self.agent.new_thread(user_id=context.user_id)
        thread.store = None  # it is part of the caller's turn
        # The same for every try of the call: the keys of its own calls begin with it.
        thread.id = hashlib.sha256(context.idempotency_key.encode()).hexdigest()[:32]
        thread.on_usage = context.add_usage
        asked = from_agent(ChatMessage.user(task))
        response = await self.agent.respond(asked, thread, options, context.report)
        if response.status is ResponseStatus.NEEDS_INPUT:
            raise ToolError(
                f"the agent {self.agent.name!r} waits for a person; only agents in a graph can wait in a call"
            )
        if response.status is ResponseStatus.STOPPED:
            raise ToolError(str(AgentStoppedError(self.agent.name, response)))
        return response.text if response.data is None else response.data

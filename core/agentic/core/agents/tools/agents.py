"""Agents as tools of other agents."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from agentic.core.agents.conversation import from_agent
from agentic.core.agents.errors import ToolError
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import RequestAnswer
from agentic.core.agents.responses import AgentChunk, AgentResponse, AgentStoppedError, ResponseStatus
from agentic.core.agents.threads.entries import ThreadEntry
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.agents.tools.pausing import Continued, ToolPause, ToolQuestion
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
        given: Sequence[ChatMessage | RequestAnswer],
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

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue | ToolPause:
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
        # The same for every try of the call: the keys of its own calls begin with it.
        thread_id = hashlib.sha256(context.idempotency_key.encode()).hexdigest()[:32]
        facts = self.agent.new_thread(user_id=context.user_id).metadata
        # Without a store: it is part of the caller's turn.
        thread = AgentThread(facts, thread_id=thread_id, entries=_entries_in(context.continued))
        thread.on_usage = context.add_usage
        given: list[ChatMessage | RequestAnswer] = [from_agent(ChatMessage.user(task))]
        if context.continued is not None:
            given = _answers_to(thread, context.continued)
        try:
            response = await self.agent.respond(given, thread, options, context.report)
        except AgentStoppedError as exc:  # of an agent in a workflow
            raise ToolError(str(exc)) from exc
        if response.status is ResponseStatus.NEEDS_INPUT:
            return _pause(thread)
        if response.status is ResponseStatus.STOPPED:
            raise ToolError(str(AgentStoppedError(self.agent.name, response)))
        return response.text if response.data is None else response.data


def _pause(thread: AgentThread) -> ToolPause:
    """Return the pause of a call whose agent waits: its conversation, and its requests."""
    entries: list[JSONValue] = [one.model_dump(mode="json", exclude_defaults=True) for one in thread.entries]
    questions = tuple(
        ToolQuestion(key=one.id, kind=one.kind, question=one.question, data=one.data, call=one.call)
        for one in thread.pending
    )
    return ToolPause(state=entries, questions=questions)


def _entries_in(continued: Continued | None) -> list[ThreadEntry]:
    found = None if continued is None else continued.pause.state
    return [ThreadEntry.model_validate(one) for one in found] if isinstance(found, list) else []


def _answers_to(thread: AgentThread, continued: Continued) -> list[ChatMessage | RequestAnswer]:
    """Return the answers to the open requests of a nested conversation, under their ids in it."""
    known = ((one.id, continued.answers.get(one.id)) for one in thread.pending)
    return [answer.model_copy(update={"request_id": name}) for name, answer in known if answer is not None]

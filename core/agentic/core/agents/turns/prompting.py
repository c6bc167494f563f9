"""Requests to the model: the conversation as it gets it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from agentic.core.agents.conversation import well_formed
from agentic.core.agents.journal import EffectJournal
from agentic.core.agents.memory.asking import recall
from agentic.core.agents.memory.provider import MemoryScope
from agentic.core.agents.options import RunOptions
from agentic.core.agents.setup import AgentSetup
from agentic.core.agents.structured import OutputSpec
from agentic.core.agents.threads.entries import ThreadTurn
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.agents.tools.tool import Tool
from agentic.core.llm.messages import ChatMessage
from agentic.core.llm.requests import ModelRequest
from agentic.core.records import unchecked
from agentic.core.types import JSONValue

Keep = Callable[[str, Callable[[], Awaitable[JSONValue]]], Awaitable[JSONValue]]
_GIVEN = {"instructions", "tools", "messages", "settings"}


class Prompter:
    """Makes the requests of one turn.

    Args:
        agent: The parts of the agent.
        thread: The conversation.
        options: Of the run.
        journal: Keeps the memories of the turn.
        output: The type of the answer, if it has one.
        keep: Keeps effects of the reducer in the thread.
    """

    def __init__(
        self,
        agent: AgentSetup,
        thread: AgentThread,
        options: RunOptions,
        journal: EffectJournal,
        output: OutputSpec[Any] | None,
        keep: Keep,
    ) -> None:
        self._agent = agent
        self._thread = thread
        self._journal = journal
        self._output = output
        self._keep = keep
        self._settings = agent.settings.overlaid(options.settings)
        self._memory: tuple[ChatMessage, ...] | None = None
        self._formed: list[ChatMessage] | None = None
        self._count = 0

    async def request(self, turn: ThreadTurn, tools: Mapping[str, Tool]) -> ModelRequest:
        """Return the next request of the turn."""
        memory = await self._remembered(turn)
        messages: Sequence[ChatMessage] = self._conversation(turn, memory)
        if (reducer := self._agent.reducer) and reducer.needs_reduction(messages):
            messages = well_formed(await reducer.reduce(messages, self._keep))
        parts: dict[str, Any] = {
            "instructions": self._agent.instructions,
            "tools": tuple(tool.definition for tool in tools.values()),
            "messages": tuple(messages),
            "output": None,
            "tool_choice": "auto",
            "settings": self._settings,
        }
        request = unchecked(ModelRequest, parts, _GIVEN)
        if self._output is None:
            return request
        return self._output.bind(request, self._agent.structured or self._agent.model.capabilities.structured)

    @property
    def scope(self) -> MemoryScope:
        """The owner of its memories."""
        facts = self._thread.metadata
        return MemoryScope(agent=self._agent.name, user_id=facts.user_id, thread_id=self._thread.id)

    def _conversation(self, turn: ThreadTurn, memory: tuple[ChatMessage, ...]) -> Sequence[ChatMessage]:
        """Return the conversation, well-formed; each request adds only the messages since the last one.

        The result is the same as for all of them: at a request, all calls in the turn have their results.
        """
        said = self._thread.messages
        if self._formed is None:
            before = len(said) - len(turn.messages)
            self._formed = well_formed((*said[:before], *memory, *said[before:]))
        else:
            self._formed += well_formed(said[self._count :])
        self._count = len(said)
        return list(self._formed)

    async def _remembered(self, turn: ThreadTurn) -> tuple[ChatMessage, ...]:
        if self._memory is None:
            found: list[ChatMessage] = []
            for number, provider in enumerate(self._agent.memory):
                kept = await self._journal.once(
                    f"memory.{number}.before", partial(recall, provider, self.scope, turn.messages)
                )
                found += [ChatMessage.from_json(one) for one in kept] if isinstance(kept, list) else []
            self._memory = tuple(found)
        return self._memory

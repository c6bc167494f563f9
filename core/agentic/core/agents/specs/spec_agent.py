"""An agent that is built of its data where it runs, with the secrets of that moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from agentic.core.actors.ports import SecretStore
from agentic.core.agents.agent import Agent
from agentic.core.agents.chat_agent import ChatAgent
from agentic.core.agents.memory.later import LaterMemoryStore
from agentic.core.agents.memory.stored import MemoryStore
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import AgentInput
from agentic.core.agents.responses import AgentResponse, Emit
from agentic.core.agents.specs.building import build_agent
from agentic.core.agents.specs.models import OpenModel, secret_names
from agentic.core.agents.specs.spec import AgentSpec
from agentic.core.agents.threads.store import ThreadStore
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.agents.tools.actors import ContextOf
from agentic.core.agents.tools.tool import Tool
from agentic.core.llm.registry import llm


class SpecAgent(Agent[Any]):
    """An agent that is data until its first turn; it is built again when a secret has changed.

    Args:
        spec: The agent as data.
        name: Its name, if the spec has none.
        secrets: Read at the beginning of each turn; not needed for a spec without secrets.
        store: Where its threads are kept.
        memories: Kind of memory -> where memories of that kind are kept.
        context: Services of the actors and pipelines among its tools.
        open_model: Opens its models.
    """

    def __init__(  # noqa: PLR0913  # the surroundings of an agent, all optional
        self,
        spec: AgentSpec,
        *,
        name: str = "agent",
        secrets: SecretStore | None = None,
        store: ThreadStore | None = None,
        memories: Mapping[str, MemoryStore] | None = None,
        context: ContextOf | None = None,
        open_model: OpenModel = llm,
    ) -> None:
        self.spec = spec
        self.name = spec.name or name
        self.description = spec.description
        self.store = store
        self._secrets = secrets
        self._memories = memories or {}
        self._context = context
        self._open_model = open_model
        self._built: tuple[dict[str, str], ChatAgent[Any]] | None = None

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools that it can call, once it is built."""
        return () if self._built is None else self._built[1].tools

    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[Any]:
        """Take a turn, or continue one; see :class:`Agent`."""
        return await (await self.built()).respond(given, thread, options, emit)

    async def built(self) -> ChatAgent[Any]:
        """Return the agent.

        Raises:
            ValueError: A secret is needed, but no store of secrets was given.
            UnknownSecretError: A secret does not exist.
        """
        values: dict[str, str] = {}
        for name in secret_names(self.spec):
            if self._secrets is None:
                raise ValueError(
                    f"agent {self.name!r} needs the secret {name!r}, but no store of secrets was given"
                )
            values[name] = (await self._secrets.secret(name)).get_secret_value()
        if self._built is None or self._built[0] != values:
            await self.aclose()
            made = build_agent(
                self.spec,
                name=self.name,
                secrets=values,
                store=self.store,
                memories=self._memories,
                context=self._context,
                open_model=self._open_model,
            )
            self._built = (values, made)
        return self._built[1]

    async def aclose(self) -> None:
        """Close the connections of its models, MCP servers and memories."""
        async with AsyncExitStack() as stack:
            for store in self._memories.values():
                if isinstance(store, LaterMemoryStore):
                    stack.push_async_callback(store.aclose)
            if self._built is not None:
                stack.push_async_callback(self._built[1].aclose)

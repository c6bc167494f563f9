"""An agent that speaks through a language model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, get_args, overload

from agentic.core.agents.agent import Agent
from agentic.core.agents.background.port import BackgroundRuns
from agentic.core.agents.errors import ToolDefinitionError
from agentic.core.agents.guards import Guard
from agentic.core.agents.limits import DEFAULT_LIMITS, UsageLimits
from agentic.core.agents.memory.provider import MemoryProvider
from agentic.core.agents.options import RunOptions
from agentic.core.agents.reducers.reducer import ChatReducer
from agentic.core.agents.requests import AgentInput
from agentic.core.agents.responses import AgentResponse, Emit, OutputT
from agentic.core.agents.setup import AgentSetup
from agentic.core.agents.structured import check_output_type
from agentic.core.agents.threads.store import ThreadStore
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.agents.tools.agents import AgentTool
from agentic.core.agents.tools.functions import as_tool
from agentic.core.agents.tools.tool import NAME, Tool
from agentic.core.agents.tools.toolset import Toolset, check_tools
from agentic.core.agents.turns.running import TurnRun
from agentic.core.llm.adapter import LLMAdapter, StructuredMode
from agentic.core.llm.registry import as_model
from agentic.core.llm.requests import ModelSettings

if TYPE_CHECKING:
    from agentic.core.graph import Workflow

ToolLike = Tool | Toolset | Callable[..., Any] | Agent[Any]
"""A tool, a set of tools, a function, or another agent."""


class ChatAgent(Agent[OutputT], Generic[OutputT]):
    """An agent over a model: it calls tools until the model answers. Agent Framework calls it ``Agent``.

    Each reply and each result is in the thread before the next step begins. An agent whose process dies
    therefore continues in another one: it neither asks the model for a reply that it has, nor calls a tool
    whose result it has.

    Attributes:
        setup: All that it is made of.

    Args:
        model: The model, or its name: ``"openai:NAME"``.
        instructions: Its system prompt. A prompt without changing parts, such as the time, can be cached by
            the provider.
        name: 1 to 64 letters, digits, ``_`` or ``-``.
        description: Its use; for models that choose among agents.
        tools: Tools, toolsets, functions, and other agents.
        output_type: The type of the answer; text if omitted.
        structured: How the model is bound to that type; its best way if omitted.
        limits: Limits of a turn.
        settings: Settings of the model.
        reducer: Shortens conversations before each request.
        memory: Its knowledge beyond the conversation.
        guards: Checks of input, calls and answer.
        keeps_refused: Whether an answer that a guard refuses is kept in the thread and in the response, and
            streamed before it is checked. Otherwise words are held until the guards have accepted them, and
            the words of a refused answer go nowhere.
        store: Where its threads are kept.
        background: Where its background runs work; tasks of this process if omitted.

    Raises:
        ToolDefinitionError: A name cannot be used, or two tools have the same.
        TypeError: The model is not one, or the output type has no JSON Schema.
        ValueError: ``structured`` is not a mode.
    """

    @overload
    def __init__(
        self: ChatAgent[str],
        model: LLMAdapter | str,
        instructions: str = ...,
        *,
        name: str = ...,
        description: str = ...,
        tools: Iterable[ToolLike] = ...,
        output_type: None = None,
        structured: StructuredMode | None = ...,
        limits: UsageLimits = ...,
        settings: ModelSettings = ...,
        reducer: ChatReducer | None = ...,
        memory: Sequence[MemoryProvider] = ...,
        guards: Sequence[Guard] = ...,
        keeps_refused: bool = ...,
        store: ThreadStore | None = ...,
        background: BackgroundRuns | None = ...,
    ) -> None: ...
    @overload
    def __init__(
        self,
        model: LLMAdapter | str,
        instructions: str = ...,
        *,
        name: str = ...,
        description: str = ...,
        tools: Iterable[ToolLike] = ...,
        output_type: type[OutputT],
        structured: StructuredMode | None = ...,
        limits: UsageLimits = ...,
        settings: ModelSettings = ...,
        reducer: ChatReducer | None = ...,
        memory: Sequence[MemoryProvider] = ...,
        guards: Sequence[Guard] = ...,
        keeps_refused: bool = ...,
        store: ThreadStore | None = ...,
        background: BackgroundRuns | None = ...,
    ) -> None: ...
    def __init__(  # noqa: PLR0913  # the parts of an agent, all optional
        self,
        model: LLMAdapter | str,
        instructions: str = "",
        *,
        name: str = "agent",
        description: str = "",
        tools: Iterable[ToolLike] = (),
        output_type: Any = None,
        structured: StructuredMode | None = None,
        limits: UsageLimits = DEFAULT_LIMITS,
        settings: ModelSettings = ModelSettings(),  # noqa: B008  # immutable
        reducer: ChatReducer | None = None,
        memory: Sequence[MemoryProvider] = (),
        guards: Sequence[Guard] = (),
        keeps_refused: bool = False,
        store: ThreadStore | None = None,
        background: BackgroundRuns | None = None,
    ) -> None:
        if NAME.fullmatch(name) is None:
            raise ToolDefinitionError(
                f"an agent cannot be called {name!r}: use 1 to 64 letters, digits, '_' or '-'"
            )
        self.name = name
        self.description = description
        self.store = store
        self.background = background
        check_output_type(name, output_type)
        if structured not in (None, *get_args(StructuredMode)):
            modes = ", ".join(get_args(StructuredMode))
            raise ValueError(f"structured of agent {name!r} is {structured!r}; use one of: {modes}")
        given = _checked_tools(name, tools)
        self.setup = AgentSetup(
            name=name,
            model=as_model(model),
            instructions=instructions,
            tools=check_tools(as_tool(one) for one in given if not isinstance(one, Toolset)),
            toolsets=tuple(one for one in given if isinstance(one, Toolset)),
            output_type=output_type,
            structured=structured,
            limits=limits,
            settings=settings,
            reducer=reducer,
            memory=tuple(memory),
            guards=tuple(guards),
            keeps_refused=keeps_refused,
        )

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools that it can call, without the tools of its toolsets."""
        return self.setup.tools

    @property
    def workflows(self) -> Sequence[Workflow]:
        """The workflows of the agents among its tools."""
        agents = [one.agent for one in self.tools if isinstance(one, AgentTool)]
        return [flow for agent in agents if isinstance(agent, Agent) for flow in agent.workflows]

    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[OutputT]:
        """Take a turn, or continue one; see :class:`Agent`."""
        return await TurnRun(self.setup, thread, options, emit).run(given)

    async def aclose(self) -> None:
        """Close the connections of its model and its toolsets."""
        for toolset in self.setup.toolsets:
            await toolset.aclose()
        await self.setup.model.aclose()

    @staticmethod
    def builder() -> ChatAgentBuilder:
        """Return a builder: the same arguments, one call each."""
        return ChatAgentBuilder()

    def __repr__(self) -> str:
        return f"ChatAgent({self.name!r}, model={self.setup.model.name!r})"


def _checked_tools(agent: str, tools: object) -> tuple[Any, ...]:
    if not isinstance(tools, Iterable) or isinstance(tools, (str, Mapping)):
        raise ToolDefinitionError(
            f"the tools of agent {agent!r} are {tools!r:.100}; give a list: tools=[...]"
        )
    return tuple(tools)


class ChatAgentBuilder:
    """Builds a :class:`ChatAgent` step by step."""

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {}

    def _with(self, **parts: object) -> Self:
        self._parts.update(parts)
        return self

    def model(self, model: LLMAdapter | str) -> Self:
        """Set the model, or its name."""
        return self._with(model=model)

    def instructions(self, text: str) -> Self:
        """Set the system prompt."""
        return self._with(instructions=text)

    def name(self, name: str) -> Self:
        """Set the name."""
        return self._with(name=name)

    def tools(self, *tools: ToolLike) -> Self:
        """Add tools."""
        return self._with(tools=(*self._parts.get("tools", ()), *tools))

    def output_type(self, kind: type[Any]) -> Self:
        """Set the type of the answer."""
        return self._with(output_type=kind)

    def limits(self, limits: UsageLimits) -> Self:
        """Set the limits of a turn."""
        return self._with(limits=limits)

    def memory_provider(self, provider: MemoryProvider) -> Self:
        """Add a memory."""
        return self._with(memory=(*self._parts.get("memory", ()), provider))

    def chat_reducer(self, reducer: ChatReducer) -> Self:
        """Set the reducer."""
        return self._with(reducer=reducer)

    def guard(self, guard: Guard) -> Self:
        """Add a guard."""
        return self._with(guards=(*self._parts.get("guards", ()), guard))

    def keep_refused(self) -> Self:
        """Keep the answers that a guard refuses."""
        return self._with(keeps_refused=True)

    def message_store(self, store: ThreadStore) -> Self:
        """Set where threads are kept."""
        return self._with(store=store)

    def background(self, runs: BackgroundRuns) -> Self:
        """Set where background runs work."""
        return self._with(background=runs)

    def message_store_factory(self, factory: Callable[[], ThreadStore]) -> Self:
        """Set where threads are kept, by a function that makes the store."""
        return self._with(store=factory())

    def build(self) -> ChatAgent[Any]:
        """Return the agent.

        Raises:
            ValueError: It has no model.
        """
        if "model" not in self._parts:
            raise ValueError("a chat agent needs a model: .model('provider:name')")
        return ChatAgent(**self._parts)

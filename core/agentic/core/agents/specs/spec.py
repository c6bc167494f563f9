"""A chat agent as data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PositiveFloat,
    PositiveInt,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from agentic.core.actors.own_code import own_file, own_name
from agentic.core.agents.limits import UsageLimits
from agentic.core.agents.specs.toolsets import SECRET_HEAD, McpToolSpec, secret_named
from agentic.core.hooks.offers import is_own_code
from agentic.core.llm.requests import ModelSettings
from agentic.core.masking import passwords_in
from agentic.core.types import JSONValue

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILE_PROVIDERS = frozenset({"scripted", "replay"})
"""Providers whose models are files: their paths are relative to the file of the spec."""

PIPELINE_TOOL = "pipeline:"
"""Begins a tool that is a pipeline in a file."""

_CONFIG = ConfigDict(extra="forbid", frozen=True)
Options = dict[str, JSONValue]


class ModelChoice(BaseModel):
    """A model, with options of its own."""

    model_config = _CONFIG

    model: str = Field(description="``provider:name``, such as ``openai:gpt-5``.")
    options: Options = Field(default_factory=dict, description="As the options of an agent.")

    @field_validator("model")
    @classmethod
    def _named(cls, model: str, info: ValidationInfo) -> str:
        return _model_name(model, info)


def _entry_kind(given: object) -> str:
    return "name" if isinstance(given, str) else "parts"


ModelEntry = Annotated[
    Annotated[str, Tag("name")] | Annotated[ModelChoice, Tag("parts")], Discriminator(_entry_kind)
]
"""A model by its name, or with options."""


class MessagesReducer(BaseModel):
    """Keeps the newest messages."""

    model_config = _CONFIG

    kind: Literal["messages"]
    max_messages: PositiveInt


class TokensReducer(BaseModel):
    """Keeps the newest messages within a number of tokens."""

    model_config = _CONFIG

    kind: Literal["tokens"]
    max_tokens: PositiveInt


class WindowReducer(BaseModel):
    """Keeps the newest messages, and important older ones."""

    model_config = _CONFIG

    kind: Literal["window"]
    window_size: PositiveInt
    max_important: int = Field(default=0, ge=0)


class SummaryReducer(BaseModel):
    """Replaces older messages by a summary."""

    model_config = _CONFIG

    kind: Literal["summary"]
    max_tokens: PositiveInt
    model: ModelEntry | None = Field(default=None, description="Writes summaries; the agent's own.")
    instructions: str | None = None

    @field_validator("model")
    @classmethod
    def _named(cls, model: str | ModelChoice | None, info: ValidationInfo) -> str | ModelChoice | None:
        return _model_name(model, info) if isinstance(model, str) else model


class MemorySpec(BaseModel):
    """The memory of an agent: its knowledge of a person beyond the conversation."""

    model_config = _CONFIG

    kind: Literal["none", "process", "sql", "nats", "redis"] = Field(
        description="``process`` remembers people until the process ends, ``sql`` in the project's database, "
        "``nats`` in a bucket of the NATS server, ``redis`` in a Redis or Valkey server."
    )
    url: str | None = Field(
        default=None,
        description="Of the Redis server, as ``${secrets.NAME}`` if it has a password; the server of the "
        "workers' budgets, or their broker, if omitted.",
    )
    max_memories: PositiveInt = Field(default=20, description="Memories in a turn.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.url is None:
            return self
        if self.kind != "redis":
            raise ValueError(f"url is for memory of the kind redis, not {self.kind}; leave it out")
        if secret_named(self.url) is not None:
            return self
        if SECRET_HEAD in self.url:
            raise ValueError("a secret must stand alone: url: ${secrets.NAME}")
        if any(passwords_in(self.url)):
            raise ValueError(
                "url has a password; store the URL with `agentic secrets set NAME`, and write "
                "url: ${secrets.NAME}"
            )
        return self


ReducerSpec = Annotated[
    MessagesReducer | TokensReducer | WindowReducer | SummaryReducer, Field(discriminator="kind")
]
REDUCERS: Mapping[str, type[BaseModel]] = {
    "messages": MessagesReducer,
    "tokens": TokensReducer,
    "window": WindowReducer,
    "summary": SummaryReducer,
}
"""Kind -> its model."""


class AgentSpec(BaseModel):
    """A chat agent as data; :func:`~agentic.core.agents.build_agent` makes the agent."""

    model_config = _CONFIG

    name: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9_-]{0,64}$",
        description="Name of the agent, for models and threads; by default the name of its file or row.",
    )
    description: str = Field(default="", description="Its use; for models that choose among agents.")
    model: str = Field(description="``provider:name``, such as ``openai:gpt-5`` or ``scripted:script.yaml``.")
    options: Options = Field(
        default_factory=dict,
        description="Options of the provider: ``base_url``, ``api_key: ${secrets.NAME}``, ...",
    )
    fallback: tuple[ModelEntry, ...] = Field(
        default=(), description="Models to ask if the one before does not reply."
    )
    max_attempts: PositiveInt = Field(default=4, description="Tries of a request to each model.")
    instructions: str = Field(default="", description="The system prompt.")
    tools: tuple[ToolEntry, ...] = Field(
        default=(),
        description="``./tools.py:function``, ``ask_person``, ``actor:NAME``, ``pipeline:FILE``, "
        "``{agent: ...}`` or ``{mcp: ...}``.",
    )
    code_mode: Literal["off", "auto", "always"] = Field(
        default="off",
        description="The model calls the tools from programs: ``auto`` does so from ten tools on.",
    )
    approval: dict[str, Literal["always", "never"]] = Field(
        default_factory=dict, description="Tool -> whether a person must approve its calls."
    )
    approval_s: PositiveFloat | None = Field(
        default=None, description="Seconds after which an unanswered request counts as rejected."
    )
    output: dict[str, JSONValue] | None = Field(default=None, description="JSON Schema of the answer.")
    structured: Literal["native", "tool", "prompt"] | None = Field(
        default=None, description="How the model is bound to ``output``; its best way if omitted."
    )
    settings: ModelSettings = Field(
        default=ModelSettings(), description="``temperature``, ``max_tokens``, ..."
    )
    limits: UsageLimits = Field(default=UsageLimits(), description="Limits of a turn.")
    reducer: ReducerSpec | None = Field(default=None, description="Shortens long conversations.")
    memory: MemorySpec | None = Field(default=None, description="Its knowledge of people.")

    @field_validator("model")
    @classmethod
    def _named(cls, model: str, info: ValidationInfo) -> str:
        return _model_name(model, info)

    @field_validator("fallback")
    @classmethod
    def _all_named(
        cls, models: tuple[str | ModelChoice, ...], info: ValidationInfo
    ) -> tuple[str | ModelChoice, ...]:
        return tuple(_model_name(one, info) if isinstance(one, str) else one for one in models)

    @field_validator("tools")
    @classmethod
    def _findable(cls, tools: tuple[ToolEntry, ...], info: ValidationInfo) -> tuple[ToolEntry, ...]:
        return tuple(_tool_name(one, info) if isinstance(one, str) else one for one in tools)

    @property
    def models(self) -> tuple[ModelChoice, ...]:
        """Its model and the fallbacks, each with its options."""
        first = ModelChoice.model_construct(model=self.model, options=self.options)
        return (first, *map(chosen, self.fallback))


class AgentToolSpec(BaseModel):
    """An agent as a tool of another one."""

    model_config = _CONFIG

    agent: AgentSpec
    name: str | None = Field(default=None, description="Name of the tool; the agent's if omitted.")


def _tool_kind(given: object) -> str:
    if isinstance(given, str):
        return "name"
    has_server = isinstance(given, McpToolSpec) or (isinstance(given, Mapping) and "mcp" in given)
    return "server" if has_server else "parts"


ToolEntry = Annotated[
    Annotated[str, Tag("name")]
    | Annotated[AgentToolSpec, Tag("parts")]
    | Annotated[McpToolSpec, Tag("server")],
    Discriminator(_tool_kind),
]
"""The tool of a spec: its name, an agent, or an MCP server."""

AgentSpec.model_rebuild()


def chosen(model: str | ModelChoice) -> ModelChoice:
    """Return a model with its options."""
    return ModelChoice.model_construct(model=model, options={}) if isinstance(model, str) else model


def agent_schema() -> dict[str, JSONValue]:
    """Return the JSON Schema of an agent, for editors."""
    schema: dict[str, Any] = AgentSpec.model_json_schema(by_alias=True)
    return cast(dict[str, JSONValue], {"$schema": DIALECT, "title": "Agent", **schema})


def _model_name(model: str, info: ValidationInfo) -> str:
    provider, _, rest = model.partition(":")
    if not provider or not rest:
        raise ValueError(
            f"{model!r:.80} is not a model; write it as provider:name, such as 'openai:gpt-5' or "
            "'scripted:script.yaml'"
        )
    folder, is_trusted = _place(info)
    if folder is None or provider not in FILE_PROVIDERS:
        return model
    return f"{provider}:{own_file(rest, folder, is_trusted=is_trusted)}"


def _tool_name(tool: str, info: ValidationInfo) -> str:
    folder, is_trusted = _place(info)
    if folder is None:
        return tool
    if tool.startswith(PIPELINE_TOOL):
        file = tool.removeprefix(PIPELINE_TOOL)
        return f"{PIPELINE_TOOL}{own_file(file, folder, is_trusted=is_trusted)}"
    return own_name(tool, folder, is_trusted=is_trusted) if is_own_code(tool) else tool


def _place(info: ValidationInfo) -> tuple[Path | None, bool]:
    """Return the folder of the spec's file, and whether this process may use the files that it names."""
    context = info.context or {}
    folder: Path | None = context.get("folder")
    return folder, bool(context.get("runs_code"))

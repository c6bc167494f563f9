"""The settings of agents of the platform ``langgraph``."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

_NAME = "package.module:attribute"


class LangGraphSettings(BaseModel):
    """The config of an agent that is a graph of LangGraph."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    graph: str = Field(
        description=f'Its name, as "{_NAME}": a compiled graph, a StateGraph, or a function that returns '
        "one. AGENTIC_WORKFLOW_MODULES names the packages that may be used."
    )
    input: dict[str, JsonValue] | str | None = Field(
        default=None,
        description="The input of an execution: a mapping, or a text for a graph with messages; by default "
        "the agent's goals, as a text.",
    )
    thread: Literal["new", "kept"] = Field(
        default="new", description="``new`` begins a thread with each execution, ``kept`` continues one."
    )
    history: Literal["none", "latest", "all"] = Field(
        default="latest",
        description="Checkpoints that stay when an execution has ended; ``none`` is for new threads in SQL.",
    )
    store: Literal["sql", "nats"] = Field(
        default="sql", description="Where threads are kept: in the database, or on the NATS server."
    )
    durability: Literal["sync", "async", "exit"] = Field(
        default="sync",
        description="When a checkpoint is stored: before the next step, beside it, or only at the end.",
    )
    recursion_limit: PositiveInt = Field(default=10_000, description="Maximum number of supersteps.")
    max_concurrency: PositiveInt | None = Field(
        default=None, description="Maximum number of nodes at a time."
    )
    configurable: dict[str, JsonValue] = Field(
        default_factory=dict, description='Values for the nodes, as config["configurable"].'
    )
    context: dict[str, JsonValue] | None = Field(
        default=None, description="Values for the nodes, as runtime.context."
    )
    answer_s: PositiveFloat | None = Field(
        default=None, description="Seconds after which an unanswered interrupt fails the execution."
    )
    types: tuple[str, ...] = Field(
        default=(), description=f'Types of the state that no schema of the graph names, as "{_NAME}".'
    )

    @model_validator(mode="after")
    def _can_forget(self) -> Self:
        if self.history == "none" and (self.thread, self.store) != ("new", "sql"):
            raise ValueError(
                "history: none removes a thread with its execution: use it with thread: new and store: sql"
            )
        return self

    @field_validator("graph")
    @classmethod
    def _has_a_place(cls, name: str) -> str:
        return _checked(name)

    @field_validator("types")
    @classmethod
    def _have_places(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(_checked, names))

    @field_validator("configurable")
    @classmethod
    def _has_no_own_names(cls, given: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if own := sorted(
            name for name in given if name.startswith(("__", "checkpoint_")) or name == "thread_id"
        ):
            raise ValueError(f"{', '.join(own)} cannot be set here: the platform names threads itself")
        return given


def _checked(name: str) -> str:
    module, colon, attribute = name.partition(":")
    if not (colon and all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))):
        raise ValueError(f'{name!r} is no name; write "{_NAME}"')
    return name

"""The settings of agents of the platform ``chat``: an agent as data, and its prompt."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from agentic.core.agents.specs.loading import find_faults, load_document
from agentic.core.agents.specs.spec import AgentSpec
from agentic.core.types import JSONValue


class ChatSettings(AgentSpec):
    """The config of a chat agent: an :class:`~agentic.core.agents.AgentSpec`, and what its executions ask."""

    prompt: str = Field(default="", description="The input of an execution; by default the agent's goals.")
    thread: Literal["new", "kept"] = Field(
        default="new",
        description="``new`` begins a conversation with each execution, ``kept`` continues one.",
    )
    user: str | None = Field(
        default=None, max_length=200, description="The person of its threads: memories belong to them."
    )

    @model_validator(mode="after")
    def _can_run(self, info: ValidationInfo) -> Self:
        # A file's faults are reported with their lines, by its reader.
        if "folder" not in (info.context or {}) and (faults := find_faults(self)):
            raise ValueError("; ".join(map(str, faults)))
        return self


def load_config(path: Path) -> Mapping[str, JSONValue]:
    """Return the config in a file that the user of this process has named; paths in it are resolved.

    Raises:
        AgentSpecError: It cannot be used; every fault is listed.
    """
    found: dict[str, JSONValue] = load_document(path, ChatSettings, runs_code=True).model_dump(
        mode="json", by_alias=True, exclude_unset=True
    )
    return found

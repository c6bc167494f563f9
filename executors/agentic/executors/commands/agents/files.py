"""Agent files, which ``agentic agents export`` writes and ``agentic agents import`` reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentic.core.reading.data_text import DataTextError, read_data
from agentic.core.types import JSONValue
from agentic.executors.agents.redaction import MASK
from agentic.executors.commands.shared.options import OptionError

if TYPE_CHECKING:
    from agentic.executors.agents.catalog import AgentFacts
    from agentic.mappers import AgentModel

HEAD = "# Agents, written by `agentic agents export`; `agentic agents import FILE` reads them.\n"
MASKED = f"# {MASK} stands for a hidden secret: enter it again, or better a reference to a stored one.\n"


class _Agent(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=200)
    platform: str = Field(min_length=1)
    goals: str | None = None
    config: dict[str, JSONValue] = {}
    disabled: bool | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    agents: list[_Agent]


def told_agent(agent: AgentModel) -> dict[str, JSONValue]:
    """Return an agent in the form of its file, with masked secrets."""
    from agentic.executors.commands.shared.views import shown_config

    return {
        "name": agent.agent_name,
        "platform": agent.agent_platform,
        **({"goals": agent.goals} if agent.goals is not None else {}),
        "config": shown_config(agent),
        "disabled": agent.disabled_at is not None,
    }


def write_agents(told: Sequence[Mapping[str, JSONValue]]) -> str:
    """Return agents as YAML, in the order given."""
    text: str = yaml.safe_dump({"agents": list(told)}, sort_keys=False, allow_unicode=True)
    return HEAD + (MASKED if MASK in text else "") + text


def read_agents(text: str, where: Path | str) -> Sequence[AgentFacts]:
    """Return the agents of a file, in its order.

    Args:
        text: YAML or JSON.
        where: Its name in messages, which show no values.

    Raises:
        OptionError: It is something else; an agent occurs twice, or has a masked secret.
    """
    from agentic.executors.agents.catalog import AgentFacts

    try:
        found = _File.model_validate(read_data(text).data)
    except DataTextError as exc:
        raise OptionError(f"{where} cannot be read as YAML or JSON: {exc}") from None
    except ValidationError as exc:
        faults = "; ".join(_said(error["loc"], error["msg"]) for error in exc.errors(include_input=False)[:5])
        raise OptionError(f"{where} is not a file of `agentic agents export`: {faults}") from None
    names = [agent.name for agent in found.agents]
    for agent in found.agents:
        if names.count(agent.name) > 1:
            raise OptionError(f"{where} has the agent {agent.name!r} twice; remove or rename one")
        if masked := next(_masked(agent.config), None):
            raise OptionError(
                f"{where}: {masked} of agent {agent.name!r} is {MASK}, which stands for a hidden secret; "
                "enter the secret, or better a reference to a stored one"
            )
    return [
        AgentFacts(
            name=agent.name,
            platform=agent.platform,
            config=agent.config,
            goals=agent.goals,
            is_disabled=agent.disabled,
            is_whole=True,
        )
        for agent in found.agents
    ]


def _masked(value: JSONValue, place: str = "config") -> Iterator[str]:
    """Yield where in a config a secret is masked."""
    match value:
        case str() if MASK in value:
            yield place
        case dict():
            for name, part in value.items():
                yield from _masked(part, f"{place}.{name}")
        case list():
            for index, part in enumerate(value):
                yield from _masked(part, f"{place}.{index}")


def _said(place: tuple[int | str, ...], what: str) -> str:
    return f"{'.'.join(map(str, place)) or 'the file'}: {what}"

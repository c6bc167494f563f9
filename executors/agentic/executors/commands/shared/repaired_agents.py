"""The pipeline of an agent in effect, its stored rows, and the repairs that are proposed for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentic.core.ids import new_id
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.commands.shared.options import OptionError

if TYPE_CHECKING:
    from agentic.core.pipeline import PipelineSpec
    from agentic.core.pipeline.repairs.proposals import Repair
    from agentic.executors.agents.pipeline import PipelineAgentExecutor
    from agentic.mappers import AgentModel

LOOKED_THROUGH = 200
"""Newest rows from which the fullest are taken: a run after a redesign may have emptied some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentToRepair:
    """An agent with a pipeline that may need a repair.

    Attributes:
        agent: The agent.
        spec: Its pipeline as it was written.
        data: The pipeline with its accepted repairs.
        rows: Stored rows with their URL, the fullest first.
    """

    agent: AgentModel
    spec: PipelineSpec
    data: JSONValue
    rows: Sequence[dict[str, JSONValue]]


def executor_of(agent: AgentModel) -> PipelineAgentExecutor:
    """Return an executor of an agent that is a pipeline.

    Raises:
        OptionError: The agent has no pipeline.
    """
    from agentic.executors.agents.factory import ExecutorFactory
    from agentic.executors.agents.pipeline import PipelineAgentExecutor

    executor = ExecutorFactory.create(agent, execution_id="")
    if not isinstance(executor, PipelineAgentExecutor):
        raise OptionError(f"agent {agent.agent_name!r} ({agent.agent_platform}) has no pipeline")
    return executor


def read_agent(name: str, project: str | None) -> AgentToRepair:
    """Return an agent with its pipeline and its rows.

    Raises:
        UnknownAgentError: The project has no such agent.
        OptionError: It has no pipeline, or no rows.
    """
    from agentic.core.pipeline.repairs.versions import repaired_spec
    from agentic.mappers import find_agent, find_project
    from agentic.mappers.catalog.pipelines import as_written
    from agentic.mappers.catalog.repairs import changes_of, newest_version

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        agent = find_agent(session, owner.id, name)
        executor = executor_of(agent)
        spec = executor.pipeline()
        data, _ = repaired_spec(as_written(spec), changes_of(newest_version(session, agent)))
        found = executor.newest_items(session, spec.name, LOOKED_THROUGH)
    rows = [dict(row) for row in found if str(row.get("url", "")).startswith("http")]
    if not rows:
        raise OptionError(f"agent {name!r} has no stored rows with a url; give rows with --rows")
    rows.sort(key=lambda row: -sum(value not in (None, "", [], {}) for value in row.values()))
    return AgentToRepair(agent=agent, spec=spec, data=data, rows=rows)


def propose(agent: AgentModel, spec: PipelineSpec, data: JSONValue, repairs: Sequence[Repair]) -> str:
    """Store repairs as a request that `agentic repairs accept` applies; return its id.

    Only changes within crawls are applied to runs. The others are advice for the owner of the pipeline.

    Args:
        agent: Has the pipeline.
        spec: The pipeline as it was written.
        data: The pipeline that the repairs change.
        repairs: The repairs.
    """
    from agentic.core.pipeline.repairs.requests import RepairRequest
    from agentic.mappers.catalog.repairs import store_repair

    request = RepairRequest(
        why="asked for by `agentic pipelines repair`",
        repairs=tuple(_applicable(spec, one) for one in repairs),
    )
    with opened(current_database(load_settings())) as database, database.writing() as session:
        return store_repair(session, agent, new_id(), request.marked(data)).id


def _applicable(spec: PipelineSpec, repair: Repair) -> Repair:
    """Return a repair without changes if runs would not read them."""
    from agentic.core.pipeline.repairs.proposals import RepairProposal
    from agentic.core.pipeline.spec.walking import find_crawls

    if not isinstance(repair, RepairProposal):
        return repair
    crawls = [place for place, _ in find_crawls(spec.steps, ("steps",))]
    if all(any(change.place[: len(crawl)] == crawl for crawl in crawls) for change in repair.changes):
        return repair
    note = f"{repair.note}; it is outside of a crawl: write it to your file with --out"
    return repair.model_copy(update={"changes": (), "note": note})

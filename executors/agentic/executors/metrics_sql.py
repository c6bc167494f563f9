"""How metrics are read, and told: sums over executions, by project and platform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from sqlalchemy import ColumnElement, Float, SQLColumnExpression, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from agentic.mappers.models import AgentModel, ExecutionModel, ProjectModel

LABELS = ("project", "platform")
"""Labels of every metric of executions."""

Labels = tuple[str, ...]
FamilyT = TypeVar("FamilyT", CounterMetricFamily, GaugeMetricFamily)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a source of metrics reads.

    Attributes:
        session: Sees one state of the database.
        project_id: The one project to tell of; None for all.
    """

    session: Session
    project_id: str | None = None


class SecondsBetween(FunctionElement[float]):
    """The seconds from one time to another, as SQL."""

    type = Float()
    inherit_cache = True


@compiles(SecondsBetween, "sqlite")
def _seconds_sqlite(element: SecondsBetween, compiler: SQLCompiler, **kw: object) -> str:
    start, end = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"((julianday({end}) - julianday({start})) * 86400.0)"


@compiles(SecondsBetween)
def _seconds(element: SecondsBetween, compiler: SQLCompiler, **kw: object) -> str:
    start, end = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"extract(epoch from {end} - {start})::float"


def sums_by_platform(
    scope: Scope,
    sums: Sequence[SQLColumnExpression[Any]],
    *,
    groups: Sequence[SQLColumnExpression[Any]] = (),
    where: Sequence[ColumnElement[bool]] = (),
) -> Iterator[tuple[Labels, tuple[Any, ...]]]:
    """Group executions by agent, which is few, and by ``groups``; give the groups and sums with their labels.

    The same labels come once for each agent: add up.
    """
    # Computed, or SQLite would read the table in the order of its index on agents, which takes twice as long.
    agent = ExecutionModel.agent_id.concat("")
    query = select(*groups, *sums, agent).where(*where).group_by(agent, *groups)
    agents = select(AgentModel.id, ProjectModel.name, AgentModel.agent_platform).join(AgentModel.project)
    if scope.project_id is not None:
        query = query.where(ExecutionModel.project_id == scope.project_id)
    labels = {agent_id: tuple(named) for agent_id, *named in scope.session.execute(agents)}
    for *found, agent_id in scope.session.execute(query):
        yield labels[agent_id], tuple(found)


def filled(family: FamilyT, values: Mapping[Labels, float]) -> FamilyT:
    """Return a metric with these values, by label."""
    for labels, value in sorted(values.items()):
        family.add_metric(labels, value)
    return family

"""Reads metrics from SQL: sums over executions, by project and platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from sqlalchemy import Float, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from agentic.mappers.tables.core import AgentModel, ProjectModel

LABELS = ("project", "platform")
"""Labels of every metric of executions."""

Labels = tuple[str, ...]
FamilyT = TypeVar("FamilyT", CounterMetricFamily, GaugeMetricFamily)


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a source of metrics.

    Attributes:
        session: Sees one state of the database.
        project_id: The one project to report; None for all.
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


def project_ids(scope: Scope) -> list[str]:
    """Return the projects to report."""
    if scope.project_id is not None:
        return [scope.project_id]
    return [*scope.session.scalars(select(ProjectModel.id).order_by(ProjectModel.id))]


def labels_of_agents(scope: Scope) -> dict[str, Labels]:
    """Return the labels of each agent's executions, by its id; several agents may have the same."""
    agents = select(AgentModel.id, ProjectModel.name, AgentModel.agent_platform).join(AgentModel.project)
    return {agent_id: tuple(named) for agent_id, *named in scope.session.execute(agents)}


def filled(family: FamilyT, values: Mapping[Labels, float]) -> FamilyT:
    """Return a metric with these values, by label."""
    for labels, value in sorted(values.items()):
        family.add_metric(labels, value)
    return family

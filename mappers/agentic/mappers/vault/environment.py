"""Secrets from environment variables, each for one project.

``AGENTIC_SECRET_<PROJECT>__<NAME>`` is a secret of that project, both in upper case with ``_`` for all but
letters and digits. If a database has a single project, ``AGENTIC_SECRET_<NAME>`` works, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import select
from sqlalchemy.orm import Session

from agentic.core.logging import get_logger
from agentic.core.secret_names import (
    KEYS_VARIABLE,
    VARIABLE,
    project_variable,
    projects_of,
    secret_name_fault,
    variable_of,
)
from agentic.mappers.tables.core import ProjectModel

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class GivenSecret:
    """The environment's secret for a project and a name.

    Attributes:
        value: The secret, or None.
        refusal: Why an existing variable does not count, "" without such a variable.
    """

    value: str | None = None
    refusal: str = ""


def given_secret(session: Session, project_id: str, name: str, environment: Mapping[str, str]) -> GivenSecret:
    """Return the secret ``name`` in ``environment`` for this project only."""
    if secret_name_fault(name) or not _may_be_given(name, environment):
        return GivenSecret()
    projects = _project_names(session)
    if (own := projects.get(project_id)) is None:
        return GivenSecret()
    variable, unscoped = project_variable(own, name), variable_of(name)
    if variable in environment:
        refusal = _refusal_of(variable, own, projects.values())
        return GivenSecret(refusal=refusal) if refusal else GivenSecret(environment[variable])
    if unscoped not in environment:
        return GivenSecret()
    if refusal := _unscoped_refusal(unscoped, variable, len(projects)):
        return GivenSecret(refusal=refusal)
    _warn(unscoped, variable)
    return GivenSecret(environment[unscoped])


def stray_variables(session: Session, environment: Mapping[str, str]) -> list[str]:
    """Return the secret variables that no project can read, or that several could, by name."""
    names = sorted(name for name in environment if name.startswith(VARIABLE) and name != KEYS_VARIABLE)
    projects = [*_project_names(session).values()]
    is_alone = len(projects) <= 1
    return [
        name
        for name in names
        if len(projects_of(name, projects)) != 1
        and not (is_alone and "__" not in name.removeprefix(VARIABLE))
    ]


def _may_be_given(name: str, environment: Mapping[str, str]) -> bool:
    """Whether any variable ends like the name: for most secrets, which are stored, this saves a query."""
    ending = variable_of(name).removeprefix(VARIABLE)
    return any(variable.startswith(VARIABLE) and variable.endswith(ending) for variable in environment)


def _refusal_of(variable: str, own: str, projects: Iterable[str]) -> str:
    meant = projects_of(variable, projects)
    return (
        "" if meant == [own] else f"{variable} may be meant for several projects: {', '.join(sorted(meant))}"
    )


def _unscoped_refusal(unscoped: str, variable: str, project_count: int) -> str:
    if project_count > 1:
        return f"{unscoped} is set, but there are several projects; set {variable} instead"
    if "__" in unscoped.removeprefix(VARIABLE):
        return f"{unscoped} names a secret of another project; set {variable} instead"
    return ""


def _project_names(session: Session) -> dict[str, str]:
    rows = session.execute(select(ProjectModel.id, ProjectModel.name))
    return dict(rows.all())


@lru_cache(maxsize=1_000)
def _warn(variable: str, better: str) -> None:
    """Warn once per process."""
    log.warning(
        "secret.unscoped",
        variable=variable,
        advice=f"it is read because there is a single project; name it {better}",
    )

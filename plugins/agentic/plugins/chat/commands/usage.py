"""``agentic usage``: tokens and money of chat agents, from the rows of their turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from agentic.core.cli import print_rows
from agentic.core.settings import load_settings
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.commands.shared.options import AsJson, InProject, OptionError
from agentic.mappers import ProjectModel, find_project, utc_now
from agentic.plugins.chat.models import ChatTurnModel
from agentic.plugins.chat.turns import ModelShare

_SHARES = TypeAdapter(dict[str, ModelShare])
SUMS = ("requests", "tool_calls", "input_tokens", "cached_tokens", "output_tokens")


class By(StrEnum):
    """How to group turns."""

    AGENT = "agent"
    MODEL = "model"
    DAY = "day"
    PROJECT = "project"


def usage(
    *,
    by: Annotated[By, typer.Option(help="Rows of the table; `project` counts all projects.")] = By.AGENT,
    days: Annotated[int | None, typer.Option(min=1, help="Only the last N days. Default: all turns.")] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Show the use of models by chat agents: turns, tokens and cost."""
    if by is By.PROJECT and project is not None:
        raise OptionError("--by project shows all projects; leave out --project")
    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        name = None if by is By.PROJECT else find_project(session, project or settings.project).name
        rows = _rows(session, by, _grouped(session, by, days, name))
        if by is By.MODEL:
            rows = _with_shares(rows, session, days, name)
    title = "Use of models by project" if name is None else f"Use of models by {by}, of {name}"
    shown = rows if as_json else [_for_people(row, by) for row in rows]
    print_rows(title, (str(by), *_COLUMNS), shown, as_json=as_json)


_COLUMNS = {
    "turns": "turns",
    "asked": "requests",
    "calls": "tool_calls",
    "in": "input_tokens",
    "cached": "cached_tokens",
    "out": "output_tokens",
    "usd": "cost_usd",
}
"""Column of the table -> key of a row: a terminal has 80 columns."""


def _for_people(row: Mapping[str, object], by: By) -> dict[str, object]:
    return {str(by): row[str(by)], **{column: row[key] for column, key in _COLUMNS.items()}}


def _grouped(session: Session, by: By, days: int | None, project: str | None) -> Select[Any]:
    """Return the sums of a project by name, or of all."""
    key = _key(session, by)
    query = (
        select(
            key.label(str(by)),
            func.count().label("turns"),
            *(func.sum(getattr(ChatTurnModel, name)).label(name) for name in SUMS),
            func.sum(ChatTurnModel.cost_usd).label("cost_usd"),
            (func.count() - func.count(ChatTurnModel.cost_usd)).label("unpriced"),
        )
        .join(ProjectModel, ProjectModel.id == ChatTurnModel.project_id)
        .group_by(key)
        .order_by(key)
    )
    if by is By.MODEL:
        query = query.where(ChatTurnModel.by_model.is_(None))
    return _wanted(query, days, project)


def _wanted(query: Select[Any], days: int | None, project: str | None) -> Select[Any]:
    if project is not None:
        query = query.where(ProjectModel.name == project)
    if days is not None:
        query = query.where(ChatTurnModel.first_seen_at >= utc_now() - timedelta(days=days))
    return query


def _with_shares(
    rows: Sequence[dict[str, object]], session: Session, days: int | None, project: str | None
) -> Sequence[dict[str, object]]:
    """Return the sums by model with the turns of several models: such a turn counts for each of them."""
    query = select(ChatTurnModel.by_model).join(ProjectModel, ProjectModel.id == ChatTurnModel.project_id)
    query = _wanted(query.where(ChatTurnModel.by_model.is_not(None)), days, project)
    found: dict[str, dict[str, Any]] = {str(row["model"]): row for row in rows}
    for stored in session.scalars(query.execution_options(yield_per=1_000)):
        for name, share in _SHARES.validate_python(stored).items():
            row = found.setdefault(name, _empty(name))
            for key in SUMS:
                row[key] += getattr(share, key)
            row["turns"] += 1
            if share.cost_usd is None:
                row["unpriced"] += 1
            else:
                row["cost_usd"] = round((row["cost_usd"] or 0.0) + share.cost_usd, 6)
    return [found[name] for name in sorted(found)]


def _empty(model: str) -> dict[str, Any]:
    return {"model": model, **dict.fromkeys(("turns", *SUMS, "unpriced"), 0), "cost_usd": None}


def _key(session: Session, by: By) -> ColumnElement[Any]:
    match by:
        case By.AGENT:
            return ChatTurnModel.agent.expression
        case By.MODEL:
            return ChatTurnModel.model.expression
        case By.PROJECT:
            return ProjectModel.name.expression
        case By.DAY:
            is_postgres = session.get_bind().dialect.name == "postgresql"
            moment = ChatTurnModel.first_seen_at
            return func.date(func.timezone("UTC", moment) if is_postgres else moment)


def _rows(session: Session, by: By, query: Select[Any]) -> Sequence[dict[str, object]]:
    """Return the rows; ``unpriced`` counts turns whose price is not known, which ``cost_usd`` leaves out."""
    found = []
    for row in session.execute(query).mappings():
        told: dict[str, object] = {str(by): str(row[str(by)])}
        told |= {name: int(row[name] or 0) for name in ("turns", *SUMS, "unpriced")}
        cost = row["cost_usd"]
        found.append({**told, "cost_usd": None if cost is None else round(float(cost), 6)})
    return found

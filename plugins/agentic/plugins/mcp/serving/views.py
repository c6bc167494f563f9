"""A project as JSON for clients: only its own things, without secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import cast

from pydantic_core import to_jsonable_python
from sqlalchemy.orm import Session

from agentic.core.hooks import get_registry
from agentic.core.masking import mask_known, masked_data, told
from agentic.core.types import JSONValue, RunId
from agentic.executors.agents.outcome import ExecutionOutcome
from agentic.executors.commands.runs.views import question_text, request_row
from agentic.executors.commands.shared.views import agent_row
from agentic.executors.exports.rows import choose_table, read_records
from agentic.executors.serving import ServedProject
from agentic.mappers import (
    ExecutionModel,
    find_agent,
    find_execution,
    list_agents,
    list_executions,
)
from agentic.mappers.catalog.execution_counts import counts_so_far
from agentic.mappers.catalog.pipelines import find_stored, list_pipelines
from agentic.mappers.runs.requests import OpenRequest, open_requests

MAX_LISTED = 200
MAX_ROWS = 500
MAX_CHARS = 200_000
"""Of the rows of an answer; the next ones are asked for."""

Facts = dict[str, JSONValue]


class ProjectViews:
    """Reads a project; each method blocks.

    Args:
        project: The project.
    """

    def __init__(self, project: ServedProject) -> None:
        self._project = project

    def overview(self) -> Facts:
        """Return the names of everything in the project."""
        with self._project.database.reading() as session:
            agents = [one.agent_name for one in list_agents(session, self._project.id)]
            pipelines = list(dict.fromkeys(one.name for one in list_pipelines(session, self._project.id)))
        return {
            "project": self._project.name,
            "agents": cast(list[JSONValue], agents[:MAX_LISTED]),
            "pipelines": cast(list[JSONValue], pipelines[:MAX_LISTED]),
            "workflows": cast(list[JSONValue], sorted(get_registry().workflows)),
        }

    def agents(self) -> list[JSONValue]:
        """Return its agents, without their configs."""
        with self._project.database.reading() as session:
            found = list_agents(session, self._project.id)[:MAX_LISTED]
            return [_agent(agent_row(one), "name", "platform", "goals", "state") for one in found]

    def agent(self, name: str) -> Facts:
        """Return an agent with its config, secrets masked.

        Raises:
            UnknownAgentError: The project has none of this name.
        """
        with self._project.database.reading() as session:
            row = agent_row(find_agent(session, self._project.id, name))
        return _agent(row, "name", "platform", "goals", "state", "config")

    def pipelines(self) -> list[JSONValue]:
        """Return the newest version of each pipeline, with its inputs."""
        with self._project.database.reading() as session:
            newest = {one.name: one for one in reversed(list_pipelines(session, self._project.id))}
            found = sorted(newest.values(), key=lambda one: one.name)[:MAX_LISTED]
            return [
                _clean(
                    {
                        "name": one.name,
                        "version": one.version,
                        "description": one.spec.get("description", ""),
                        "inputs": one.spec.get("inputs", {}),
                    }
                )
                for one in found
            ]

    def pipeline(self, name: str) -> Facts:
        """Return the spec of a pipeline, secrets masked.

        Raises:
            UnknownPipelineError: The project has none of this name.
        """
        with self._project.database.reading() as session:
            found = find_stored(session, self._project.id, name)
            return _clean({"name": found.name, "version": found.version, "spec": found.spec})

    def executions(self, agent: str | None = None, limit: int = 20) -> list[JSONValue]:
        """Return the newest executions.

        Raises:
            UnknownAgentError: The project has no such agent.
        """
        with self._project.database.reading() as session:
            agent_id = None if agent is None else find_agent(session, self._project.id, agent).id
            found = list_executions(
                session, self._project.id, min(max(limit, 1), MAX_LISTED), agent_id=agent_id
            )
            return [_execution(session, one) for one in found]

    def execution(self, execution_id: str) -> Facts:
        """Return an execution with its open requests.

        Raises:
            UnknownExecutionError: The project has no such execution.
        """
        with self._project.database.reading() as session:
            found = find_execution(session, self._project.id, execution_id)
            facts = _execution(session, found)
            warnings = [mask_known(one) for one in found.warnings[:20]]
            asked = [_request(one) for one in self._requests(session, execution_id)]
        return {**facts, "warnings": cast(JSONValue, warnings), "requests": cast(JSONValue, asked)}

    def rows(self, execution_id: str, *, table: str | None = None, offset: int = 0, limit: int = 50) -> Facts:
        """Return rows that an execution was the last to store.

        Raises:
            UnknownExecutionError: The project has no such execution.
            UnknownTableError: Its platform has no such table.
        """
        begin, most = max(offset, 0), min(max(limit, 1), MAX_ROWS)
        with self._project.database.reading() as session:
            execution = find_execution(session, self._project.id, execution_id)
            agent = find_agent(session, self._project.id, execution.agent_id)
            chosen = choose_table(session, get_registry().platform(agent.agent_platform), execution, table)
            read = (dict(row) for row in read_records(session, chosen, execution))
            rows, has_more = _fitting(islice(read, begin, None), most)
        facts: Facts = {"table": chosen.name, "offset": begin, "rows": rows}
        return {**facts, "next_offset": begin + len(rows)} if has_more else facts

    def requests(self, run_id: str | None = None) -> list[JSONValue]:
        """Return the open requests of the project, or of one of its runs; the oldest first."""
        with self._project.database.reading() as session:
            return [_request(one) for one in self._requests(session, run_id)]

    def open_requests(self, run_id: str | None = None) -> list[OpenRequest]:
        """Return the open requests as they are."""
        with self._project.database.reading() as session:
            return list(self._requests(session, run_id))

    def _requests(self, session: Session, run_id: str | None) -> Iterator[OpenRequest]:
        run = None if run_id is None else RunId(run_id)
        yield from islice(open_requests(session, project_id=self._project.id, run_id=run), MAX_LISTED)


def question_words(question: JSONValue) -> str:
    """Return a question for a person: the action of an approval with its arguments, else all of it."""
    plain = _without_types(question)
    if not isinstance(plain, dict) or not isinstance(plain.get("action"), str):
        return mask_known(question_text(plain))
    action, details = str(plain["action"]), plain.get("details")
    given = details.get("arguments", details) if isinstance(details, dict) else details
    is_said = not given or given == {"question": action}
    return mask_known(action if is_said else f"{action} {json.dumps(given, ensure_ascii=False)}")


def _without_types(stored: JSONValue) -> JSONValue:
    """Return a stored value without the names of its types."""
    if isinstance(stored, list):
        return [_without_types(one) for one in stored]
    if not isinstance(stored, dict):
        return stored
    if stored.keys() == {"$", "v"}:
        return _without_types(stored["v"])
    return {key: _without_types(one) for key, one in stored.items()}


def as_data(value: object) -> JSONValue:
    """Return a value as JSON, with the secrets masked that this process has read."""
    found = masked_data({"value": to_jsonable_python(value, fallback=str)})
    return found["value"]


def _fitting(rows: Iterator[Mapping[str, object]], most: int) -> tuple[list[JSONValue], bool]:
    """Return the rows that fit into an answer, and whether there are more."""
    found: list[JSONValue] = []
    size = 0
    for row in rows:
        plain = as_data(row)
        size += len(json.dumps(plain))
        if len(found) == most or (found and size > MAX_CHARS):
            return found, True
        found.append(plain)
    return found, False


def _agent(row: Mapping[str, object], *names: str) -> Facts:
    return _clean({name: row[name] for name in names if row[name] is not None})


def _execution(session: Session, execution: ExecutionModel) -> Facts:
    counts = counts_so_far(session, execution.project_id, [execution])
    facts = ExecutionOutcome.of(execution, counts[execution.id]).to_dict()
    agent = find_agent(session, execution.project_id, execution.agent_id)
    return _clean(
        {
            "execution": facts["execution_id"],
            "agent": agent.agent_name,
            "status": facts["status"],
            "counts": facts["counts"],
            "reason": facts["reason"],
            "error": facts["error"],
            "created_at": execution.created_at.isoformat(),
        }
    )


def _request(request: OpenRequest) -> Facts:
    row = request_row(request)
    named = {"request": row["request"], "run": row["run_id"], "question": question_words(request.question)}
    return _clean(
        {
            **named,
            "details": _without_types(request.question),
            "expects": row["expects"],
            "deadline": row["deadline"],
        }
    )


def _clean(facts: Mapping[str, object]) -> Facts:
    shown = told(to_jsonable_python({key: value for key, value in facts.items() if value is not None}))
    return cast(Facts, as_data(shown))

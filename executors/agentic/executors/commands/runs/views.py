"""Durable runs and their requests as rows to print."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentic.core.graph import RunStatus
from agentic.core.ids import SHORT_CHARS
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from agentic.core.ledger import ActivationRow, RunRow
    from agentic.mappers.runs.reading import Backlog
    from agentic.mappers.runs.requests import OpenRequest

_AGENT = re.compile(r"(?:agent|talk):(?P<platform>[^:]+):(?P<id>[0-9a-f]+):")

_DRAWN_ID = re.compile("[0-9a-f]{32}")
"""A generated id; people need only its beginning."""


LONG_S = 60.0
"""If a claimable activation waits this long, its queue has no worker."""


def run_row(
    run: RunRow, agents: Mapping[str, str] = MappingProxyType({}), backlog: Backlog | None = None
) -> dict[str, object]:
    """Return a run; ``state`` is its status as text, and the short forms are for tables.

    Args:
        run: The run.
        agents: Id -> name: an agent's run is shown under this name.
        backlog: Its work that waits for a worker, if known.
    """
    return {
        "run_id": run.run_id,
        "short_id": shown_id(run.run_id),
        "workflow": run.workflow,
        "short_workflow": shown_workflow(run.workflow, agents),
        "state": state_of(run, backlog),
        "status": str(run.status),
        "superstep": run.superstep,
        "revision": run.revision,
        "priority": run.priority,
        "created_at": shown_time(run.created_at),
        "updated_at": shown_time(run.updated_at),
        "finished_at": shown_time(run.finished_at),
        "deadline": shown_time(run.deadline),
        "idempotency_key": run.idempotency_key,
        "cancel_reason": run.cancel_reason,
        "is_paused": run.is_paused,
        "note": run.note if backlog is None else backlog.note,
        "error": run.error,
    }


def shown_workflow(workflow: str, agents: Mapping[str, str]) -> str:
    """Return the name of an agent, or the last part of the name of a workflow."""
    agent = _AGENT.match(workflow)
    if agent is not None:
        return agents.get(agent["id"]) or f"{agent['platform']} agent {agent['id'][:SHORT_CHARS]}"
    return workflow.rpartition(".")[2]


def minute(time: object) -> str:
    """Return a time in a short form for tables, in UTC."""
    return str(time)[: len("2026-05-01 12:00")] if time else ""


def untyped(value: JSONValue) -> JSONValue:
    """Return a stored value without the names of types."""
    if isinstance(value, dict):
        return (
            untyped(value["v"])
            if "$" in value and "v" in value
            else {k: untyped(v) for k, v in value.items()}
        )
    return [untyped(one) for one in value] if isinstance(value, list) else value


def question_text(question: JSONValue) -> str:
    """Return a question for people: fields with their values, without the names of types."""
    question = untyped(question)
    if isinstance(question, Mapping):
        return "; ".join(f"{name}: {question_text(value)}" for name, value in question.items())
    if isinstance(question, list):
        return ", ".join(map(question_text, question))
    return question if isinstance(question, str) else json.dumps(question)


def shown_id(run_id: str) -> str:
    """Return the id of a run for tables: a generated one is cut."""
    outermost, slash, within = run_id.partition("/")
    short = outermost[:SHORT_CHARS] if _DRAWN_ID.fullmatch(outermost) else outermost
    return f"{short}{slash}{within}"


def goes_on(run: RunRow) -> bool:
    """Whether a run should continue by itself, so that a worker should work on it."""
    return run.status is RunStatus.RUNNING and not run.is_paused and run.cancel_reason is None


def state_of(run: RunRow, backlog: Backlog | None = None) -> str:
    """Return the status of a run, with the obstacle to its progress: ``running, paused``."""
    if run.status.is_final:
        return str(run.status)
    if run.cancel_reason is not None:
        return f"{run.status}, to be cancelled"
    hindrance = "paused" if run.is_paused else _missing(backlog)
    return f"{run.status}, {hindrance}" if hindrance else str(run.status)


def _missing(backlog: Backlog | None) -> str | None:
    """Return the missing worker that a run needs, judged by its backlog."""
    if backlog is None:
        return None
    if backlog.note is not None:
        return "no worker has its code"
    return f"no worker for {backlog.queue}" if backlog.waits_s > LONG_S else None


def activation_row(row: ActivationRow, outermost: str, now: float) -> dict[str, object]:
    """Return an activation.

    Args:
        row: The activation.
        outermost: The run shown; for an activation in a child run, the rest of the child's name is shown.
        now: By the ledger's clock: ``lease_s`` is the rest of the claim, ``for_s`` the time since the first
            claim, ``due_in_s`` the time until it may be claimed.
    """
    within = row.id.run_id.removeprefix(outermost).removeprefix("/")
    return {
        "executor": "/".join(filter(None, (within, row.id.executor_id))),
        "superstep": row.id.superstep,
        "shard": row.id.shard,
        "status": str(row.status),
        "worker": row.worker,
        "lease_s": None if row.lease_until is None else round(row.lease_until - now, 1),
        "for_s": None if row.started_at is None else round(now - row.started_at, 1),
        "due_in_s": round(row.not_before - now, 1) if row.not_before > now else None,
        "crashes": row.crashes,
        "queue": row.queue,
        "note": row.note,
    }


def request_row(request: OpenRequest) -> dict[str, object]:
    """Return a question that waits for an answer."""
    return {
        "request": request.id,
        "run_id": request.run_id,
        "workflow": request.workflow,
        "asked_by": request.path,
        "question": request.question,
        "answer": request.response_type,
        "question_text": question_text(request.question),
        "expects": request.response_type.rpartition(".")[2],
        "raised_at": shown_time(request.raised_at),
        "deadline": shown_time(request.deadline),
    }


def shown_time(moment: float | None) -> str | None:
    """Return seconds since the epoch as a time in UTC."""
    return None if moment is None else f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%SZ}"

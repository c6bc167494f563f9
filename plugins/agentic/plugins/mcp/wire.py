"""The tasks extension of MCP (SEP-2663) on the wire; the SDK has the hooks for it, and not the types."""

from __future__ import annotations

from typing import Any, Literal

from mcp import types

from agentic.core.types import JSONValue

TASKS = "io.modelcontextprotocol/tasks"
IDEMPOTENCY_KEY = "agentic-pipelines/idempotencyKey"
"""Metadata of a call: the same for every try. Our server starts one execution for each key."""

TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]
ENDED: frozenset[TaskStatus] = frozenset({"completed", "failed", "cancelled"})


class TaskFields(types.Result):
    """The fields of a task."""

    task_id: str
    status: TaskStatus
    status_message: str | None = None
    created_at: str
    last_updated_at: str
    ttl_ms: int | None = None
    poll_interval_ms: int | None = None


class CreatedTask(TaskFields):
    """The result of a call that continues as a task."""

    result_type: Literal["task"] = "task"


class DetailedTask(TaskFields):
    """The state of a task."""

    result_type: Literal["complete"] = "complete"
    input_requests: types.InputRequests | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class TaskAcknowledged(types.Result):
    """The empty answer to an update or a cancellation."""

    result_type: Literal["complete"] = "complete"


class TaskParams(types.RequestParams):
    """Names a task."""

    task_id: str


class UpdateTaskParams(TaskParams):
    """Answers for a task."""

    input_responses: types.InputResponses


class GetTask(types.Request[TaskParams, Literal["tasks/get"]]):
    """Asks for the state of a task."""

    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param = "taskId"


class UpdateTask(types.Request[UpdateTaskParams, Literal["tasks/update"]]):
    """Answers the questions of a task."""

    method: Literal["tasks/update"] = "tasks/update"
    params: UpdateTaskParams
    name_param = "taskId"


class CancelTask(types.Request[TaskParams, Literal["tasks/cancel"]]):
    """Cancels a task."""

    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: TaskParams
    name_param = "taskId"


def wire(model: types.Result | types.InputRequest) -> dict[str, JSONValue]:
    """Return a message as it is on the wire."""
    found: dict[str, JSONValue] = model.model_dump(by_alias=True, mode="json", exclude_none=True)
    return found

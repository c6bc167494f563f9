"""Our workflows as nodes of LangGraph's graphs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.types import interrupt

from agentic.core.graph import CheckpointStore, MemoryCheckpointStore, RunResult, RunStatus, Workflow
from agentic.core.types import JSONValue, RunId
from agentic.plugins.langgraph.errors import LangGraphError
from agentic.plugins.langgraph.running.values import json_of


class WorkflowNode(Protocol):
    """A node of LangGraph that runs a workflow of ours."""

    def __call__(self, state: Any, config: RunnableConfig) -> Awaitable[dict[str, Any]]:  # noqa: ANN401 - any state
        """Return the update of the state."""
        ...


def as_langgraph_node(
    workflow: Workflow,
    *,
    message: str | Callable[[Any], object] | None = None,
    output: str | Callable[[RunResult], Mapping[str, Any]] = "output",
    checkpoints: CheckpointStore | None = None,
) -> WorkflowNode:
    """Return a node that runs a workflow: ``add_node("fetch", as_langgraph_node(flow, message="url"))``.

    A request of the workflow is an ``interrupt()`` of the graph, with the data of the request, its id, and
    the type of the answer. The workflow continues where it stopped when its node runs again: after an answer,
    or after the process has died, if the checkpoints of both outlive it.

    Args:
        workflow: The workflow.
        message: Name of the value in the state that is its input, or a function that makes the input from the
            state; the state itself if omitted.
        output: Name of the value in the state for its output (a list if it has several), or a function that
            makes the update of the state from the result.
        checkpoints: Where the workflow is kept while its node is at work; in memory if omitted.

    Raises:
        Exception: The workflow failed with it.
    """
    store = checkpoints or MemoryCheckpointStore()

    async def run_workflow(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - any state
        run_id = _run_id(config, workflow)
        if run_id is not None and await store.list_metadata(run_id=run_id, newest_only=True):
            result = await workflow.resume(run_id, checkpoints=store)
        else:
            result = await workflow.run(_message(message, state), run_id=run_id, checkpoints=store)
        while result.status is RunStatus.WAITING_INPUT:
            answers = {request.id: interrupt(_question(request)) for request in result.pending_requests}
            result = await workflow.resume(result.run_id, checkpoints=store, responses=answers)
        if run_id is not None:
            await store.delete_all(run_id)
        return dict(output(result)) if callable(output) else {output: _only(result)}

    run_workflow.__name__ = workflow.id
    return run_workflow


def _run_id(config: RunnableConfig, workflow: Workflow) -> RunId | None:
    """Return a name that is the same whenever LangGraph repeats the task; None outside of a thread."""
    named = config.get("configurable", {})
    thread_id, ns = named.get("thread_id"), named.get("checkpoint_ns")
    return RunId(f"{thread_id}:{ns}:{workflow.id}") if thread_id and ns else None


def _message(message: str | Callable[[Any], object] | None, state: Any) -> object:  # noqa: ANN401
    if message is None:
        return state
    if callable(message):
        return message(state)
    try:
        return state[message] if isinstance(state, Mapping) else getattr(state, message)
    except (KeyError, AttributeError):
        raise LangGraphError(f"the state has no value {message!r} for the workflow's input") from None


def _question(request: Any) -> dict[str, JSONValue]:  # noqa: ANN401 - InfoRequest
    return {"request": request.id, "data": json_of(request.data), "response_type": request.response_type}


def _only(result: RunResult) -> object:
    return result.outputs[0] if len(result.outputs) == 1 else list(result.outputs)

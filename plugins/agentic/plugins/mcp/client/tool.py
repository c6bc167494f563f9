"""A tool of a server as a tool of an agent: its calls, in rounds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol, cast

from mcp import MCPError, types
from pydantic import ValidationError

from agentic.core.agents import Tool, ToolContext, ToolError, ToolPause
from agentic.core.errors import line_of
from agentic.core.logging import get_logger
from agentic.core.types import JSONValue
from agentic.plugins.mcp.client.connection import ConnectionLostError
from agentic.plugins.mcp.client.errors import McpConnectionError, McpProtocolError
from agentic.plugins.mcp.client.holding import AskedQuestion, Outcome, question_request
from agentic.plugins.mcp.client.questions import questions_of, requests_of, responses_to, stored_requests
from agentic.plugins.mcp.client.results import value_of
from agentic.plugins.mcp.wire import CreatedTask, DetailedTask

log = get_logger(__name__)

POLL_S = (0.05, 1.0, 60.0)
"""The shortest, the usual and the longest wait between two questions for the state of a task."""


class ToolServer(Protocol):
    """The parts of a server that its tools need."""

    name: str

    async def call(  # the parts of a call
        self,
        tool: str,
        arguments: Mapping[str, JSONValue],
        *,
        key: str = "",
        responses: types.InputResponses | None = None,
        state: str | None = None,
        is_repeatable: bool = False,
    ) -> Outcome | AskedQuestion:
        """Call a tool: one round."""
        ...

    async def resume_call(self, token: str, answer: types.ElicitResult) -> Outcome | AskedQuestion:
        """Answer a question in the middle of a call."""
        ...

    async def task(self, task_id: str) -> DetailedTask:
        """Return the state of a task."""
        ...

    async def update_task(self, task_id: str, responses: types.InputResponses) -> None:
        """Answer the questions of a task."""
        ...

    def masked(self, text: str) -> str:
        """Return a text without the secrets of the connection."""
        ...

    def masked_value(self, value: JSONValue) -> JSONValue:
        """Return a value without the secrets of the connection."""
        ...


class McpTool(Tool):
    """A tool of an MCP server.

    Args:
        server: The server.
        remote: The server's name of it.
        name: Its name here.
        description: Of the server.
        parameters: JSON Schema of its arguments.
        needs_approval: Whether a person must approve each call.
        is_repeatable: Whether a call may be sent again if the connection was lost during it.
    """

    def __init__(  # noqa: PLR0913  # the facts of a tool
        self,
        server: ToolServer,
        remote: str,
        name: str,
        description: str,
        parameters: dict[str, JSONValue],
        *,
        needs_approval: bool,
        is_repeatable: bool,
    ) -> None:
        super().__init__(name, description, parameters, approval="always" if needs_approval else "never")
        self.remote = remote
        self._server = server
        self._is_repeatable = is_repeatable

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue | ToolPause:
        """Call the tool, or continue its call; see :class:`Tool`."""
        server = self._server
        try:
            found = await self._round(arguments, context)
        except ConnectionLostError as exc:
            raise ToolError(f"{exc}; the server may have done the work, or a part of it") from None
        except (McpConnectionError, McpProtocolError) as exc:
            raise ToolError(str(exc)) from None
        except ToolError as exc:
            raise ToolError(server.masked(str(exc))) from None
        except MCPError as exc:
            raise ToolError(server.masked(_words(server.name, exc))) from None
        except (ValidationError, RuntimeError) as exc:  # the SDK's words for results that break the protocol
            log.warning(
                "result.refused", server=server.name, tool=self.remote, error=server.masked(line_of(exc))
            )
            raise ToolError(f"{server.name} sent a result that does not follow the protocol") from None
        return found if isinstance(found, ToolPause) else server.masked_value(found)

    async def _round(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue | ToolPause:
        state = _State.of(context)
        if state is not None and state.task is not None:
            return await self._task_round(state, state.task, context)
        if state is not None and state.held is not None:
            return self._ended(await self._answered(state, state.held, context), state)
        responses: types.InputResponses | None = None
        if state is not None:
            if state.requests and context.continued is not None:
                responses = responses_to(state.requests, context.continued.answers)
            else:
                await asyncio.sleep(min(POLL_S[0] * 2**state.waits, POLL_S[1]))
        outcome = await self._server.call(
            self.remote,
            arguments,
            key=context.idempotency_key,
            responses=responses,
            state=None if state is None else state.request_state,
            is_repeatable=self._is_repeatable,
        )
        return self._ended(outcome, state)

    def _ended(self, outcome: Outcome | AskedQuestion, state: _State | None) -> JSONValue | ToolPause:
        """Return the result of a round."""
        match outcome:
            case types.CallToolResult():
                return value_of(outcome)
            case CreatedTask():
                return ToolPause(state={"task": outcome.task_id})
            case AskedQuestion():
                requests = requests_of(question_request(outcome.params))
                kept: dict[str, JSONValue] = {"held": outcome.token, "requests": stored_requests(requests)}
                return ToolPause(state=kept, questions=questions_of(self._server.name, requests))
            case _:
                return self._asked(outcome, state)

    async def _answered(self, state: _State, token: str, context: ToolContext) -> Outcome | AskedQuestion:
        answers = {} if context.continued is None else context.continued.answers
        try:
            (answer,) = responses_to(state.requests, answers).values()
        except ToolError:
            await self._server.resume_call(token, types.ElicitResult(action="cancel"))
            raise
        return await self._server.resume_call(token, cast(types.ElicitResult, answer))

    def _asked(self, outcome: types.InputRequiredResult, state: _State | None) -> ToolPause:
        requests = outcome.input_requests or {}
        kept: dict[str, JSONValue] = {"requests": stored_requests(requests)}
        if outcome.request_state is not None:
            kept["state"] = outcome.request_state
        if not requests:
            kept["waits"] = 1 if state is None else state.waits + 1
        return ToolPause(state=kept, questions=questions_of(self._server.name, requests))

    async def _task_round(self, state: _State, task_id: str, context: ToolContext) -> JSONValue | ToolPause:
        if state.requests and context.continued is not None:
            await self._server.update_task(task_id, responses_to(state.requests, context.continued.answers))
        answered = set(state.answered) | set(state.requests)
        while True:
            task = await self._server.task(task_id)
            match task.status:
                case "completed":
                    return value_of(types.CallToolResult.model_validate(task.result or {}))
                case "failed":
                    raise ToolError(f"the task failed: {str((task.error or {}).get('message', ''))[:2_000]}")
                case "cancelled":
                    raise ToolError(f"the task was cancelled{_said(task)}")
                case "input_required":
                    # The server takes answers some time after it has received them.
                    open_ones = {
                        key: one for key, one in (task.input_requests or {}).items() if key not in answered
                    }
                    if open_ones:
                        kept: dict[str, JSONValue] = {
                            "task": task_id,
                            "requests": stored_requests(open_ones),
                            "answered": cast(list[JSONValue], sorted(answered)),
                        }
                        return ToolPause(state=kept, questions=questions_of(self._server.name, open_ones))
                case _:
                    pass
            shortest, usual, longest = POLL_S
            wanted = usual if task.poll_interval_ms is None else task.poll_interval_ms / 1_000
            await asyncio.sleep(min(max(wanted, shortest), longest))


class _State:
    """The state of a call between two rounds."""

    def __init__(self, kept: Mapping[str, JSONValue]) -> None:
        task, state, waits = kept.get("task"), kept.get("state"), kept.get("waits")
        held = kept.get("held")
        self.held = held if isinstance(held, str) else None
        answered = kept.get("answered")
        self.task = task if isinstance(task, str) else None
        self.request_state = state if isinstance(state, str) else None
        self.waits = waits if isinstance(waits, int) else 0
        self.requests = requests_of(kept.get("requests") or {})
        self.answered = [str(one) for one in answered] if isinstance(answered, list) else []

    @classmethod
    def of(cls, context: ToolContext) -> _State | None:
        """Return the state that a call continues with; None for a new call."""
        kept = None if context.continued is None else context.continued.pause.state
        return cls(kept) if isinstance(kept, dict) else None


def _said(task: DetailedTask) -> str:
    return f": {task.status_message[:500]}" if task.status_message else ""


def _words(server: str, error: MCPError) -> str:
    """Return an error of the protocol, as a model reads it."""
    if error.error.code in (types.REQUEST_TIMEOUT, types.CONNECTION_CLOSED):
        return f"{server} did not answer; it may have done the work, or a part of it"
    return f"{server} refused the call: {error.error.message[:2_000]}"

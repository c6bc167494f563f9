"""A server of the official SDK, with everything that a client must handle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mcp import MCPError, types
from mcp.server import Server

from agentic.core.types import JSONValue
from agentic.plugins.mcp.wire import (
    IDEMPOTENCY_KEY,
    TASKS,
    CreatedTask,
    DetailedTask,
    TaskAcknowledged,
    TaskParams,
    UpdateTaskParams,
)

NOW = "2026-11-26T00:00:00Z"
SIZES: dict[str, Any] = {
    "type": "object",
    "properties": {"size": {"type": "integer", "minimum": 1}},
    "required": ["size"],
}


@dataclass
class Shop:
    """A shop: prices, orders that ask for a size, and parcels that take time.

    Attributes:
        calls: Each call: tool, arguments, key.
        polls: How often a parcel is asked for before it has arrived.
        says: Texts that the tools return.
    """

    calls: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    polls: int = 2
    says: str = "3.50"
    tools: list[str] = field(default_factory=lambda: ["price", "order", "send", "wait", "fail", "rows"])
    asked: int = 0
    answers: list[Any] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    asks_midway: bool = False

    def server(self) -> Server[Any]:
        """Return the server; several may serve one shop."""
        server: Server[Any] = Server(
            "shop",
            version="1",
            on_list_tools=self._list,
            on_call_tool=self._call,  # type: ignore[arg-type]  # also tasks
        )
        server.extensions[TASKS] = {}
        server.add_request_handler("tasks/get", TaskParams, self._task)
        server.add_request_handler("tasks/update", UpdateTaskParams, self._update)
        server.add_request_handler("tasks/cancel", TaskParams, self._cancel)
        return server

    async def _list(self, _: object, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        position = int(params.cursor) if params and params.cursor else 0
        name = self.tools[position]
        hints = types.ToolAnnotations(read_only_hint=name in {"price", "rows"})
        schema = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
        tool = types.Tool(name=name, description=f"{name} of an item", input_schema=schema, annotations=hints)
        more = position + 1
        return types.ListToolsResult(tools=[tool], next_cursor=str(more) if more < len(self.tools) else None)

    async def _call(  # noqa: PLR0911  # one return for each tool
        self, _: object, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult | CreatedTask:
        key = str((params.meta or {}).get(IDEMPOTENCY_KEY, ""))
        self.calls.append((params.name, dict(params.arguments or {}), key))
        match params.name:
            case "order":
                return self._order(params)
            case "wait":
                if params.request_state != "3":
                    return types.InputRequiredResult(request_state=str(int(params.request_state or 0) + 1))
                return text("waited")
            case "send":
                return CreatedTask(task_id="t1", status="working", **_times())
            case "fail":
                return types.CallToolResult(content=[types.TextContent(text="no such item")], is_error=True)
            case "rows":
                rows: list[JSONValue] = [{"item": "a", "price": 1}, {"item": "b", "price": 2}]
                return types.CallToolResult(content=[], structured_content={"result": rows})
            case _:
                return text(self.says)

    def _order(self, params: types.CallToolRequestParams) -> types.CallToolResult | types.InputRequiredResult:
        if params.input_responses is None:
            return types.InputRequiredResult(input_requests={"size": question()}, request_state="half")
        found = params.input_responses["size"]
        self.answers.append(found)
        assert isinstance(found, types.ElicitResult)
        size = (found.content or {}).get("size")
        return text(f"{params.request_state}: {found.action} {size}")

    async def _task(self, _: object, params: TaskParams) -> DetailedTask:
        if params.task_id != "t1":
            raise MCPError(-32602, "no such task")
        self.asked += 1
        if self.asks_midway and not self.answers and self.asked >= self.polls:
            return DetailedTask(
                task_id="t1", status="input_required", input_requests={"door": question()}, **_times()
            )
        if self.asked < self.polls:
            return DetailedTask(task_id="t1", status="working", poll_interval_ms=1, **_times())
        result = text("arrived").model_dump(by_alias=True, mode="json")
        return DetailedTask(task_id="t1", status="completed", result=result, **_times())

    async def _update(self, _: object, params: UpdateTaskParams) -> TaskAcknowledged:
        self.answers.append(params.input_responses["door"])
        return TaskAcknowledged()

    async def _cancel(self, _: object, params: TaskParams) -> TaskAcknowledged:
        self.cancelled.append(params.task_id)
        return TaskAcknowledged()


def text(words: str) -> types.CallToolResult:
    """Return a result in words."""
    return types.CallToolResult(content=[types.TextContent(text=words)])


def question() -> types.ElicitRequest:
    """Return the question for a size."""
    params = types.ElicitRequestFormParams(message="Which size?", requested_schema=SIZES)
    return types.ElicitRequest(params=params)


def _times() -> dict[str, Any]:
    return {"created_at": NOW, "last_updated_at": NOW}

"""The server of a project: tools, resources and tasks of the official SDK."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from mcp import MCPError, types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from agentic.core.errors import AgenticError, line_of
from agentic.core.hooks.fitting import DISTRIBUTION
from agentic.core.ledger import UnknownRunError
from agentic.core.logging import get_logger
from agentic.core.masking import mask_known
from agentic.core.threads import in_thread
from agentic.core.types import JSONValue
from agentic.executors.serving import ServedProject
from agentic.mappers import UnknownExecutionError
from agentic.plugins.mcp.serving.acting import ProjectActs, RunFacts
from agentic.plugins.mcp.serving.asking import answers_to, questions_of
from agentic.plugins.mcp.serving.resources import JSON, LISTED, TEMPLATES, reader_of
from agentic.plugins.mcp.serving.tools import ClientCall, ServedTool, WaitArguments, served_tools
from agentic.plugins.mcp.wire import (
    IDEMPOTENCY_KEY,
    TASKS,
    CreatedTask,
    DetailedTask,
    TaskAcknowledged,
    TaskParams,
    UpdateTaskParams,
)

log = get_logger(__name__)

POLL_MS = 1_000
MAX_NAME = 100
INSTRUCTIONS = (
    "Pipelines, agents and workflows of one project. Begin with describe_project. Long work is a task, or "
    "returns the id of an execution: get_execution shows its state, get_rows its rows."
)

Context = ServerRequestContext[Any]
Result = types.CallToolResult | types.InputRequiredResult | CreatedTask


def make_server(project: ServedProject, *, is_read_only: bool = False) -> Server[Any]:
    """Return the MCP server of a project, for any transport.

    Args:
        project: The project to show; nothing of another one can be reached.
        is_read_only: Leave out the tools that start, answer or cancel anything.
    """
    return _Handlers(ProjectActs(project), is_read_only=is_read_only).server()


class _Handlers:
    """The handlers of a server."""

    def __init__(self, acts: ProjectActs, *, is_read_only: bool) -> None:
        self._acts = acts
        self._tools = served_tools(is_read_only=is_read_only)
        self._is_read_only = is_read_only

    def server(self) -> Server[Any]:
        """Return the server."""
        server: Server[Any] = Server(
            f"agentic {self._acts.project.name}",
            version=version(DISTRIBUTION),
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,  # type: ignore[arg-type]  # a task is a result of an extension
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )
        if not self._is_read_only:
            server.extensions[TASKS] = {}
            server.add_request_handler("tasks/get", TaskParams, self._get_task)
            server.add_request_handler("tasks/update", UpdateTaskParams, self._update_task)
            server.add_request_handler("tasks/cancel", TaskParams, self._cancel_task)
        return server

    async def _list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        del context, params
        return types.ListToolsResult(tools=[_listed(one) for one in self._tools.values()])

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> Result:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"no tool is called {params.name[:MAX_NAME]!r}")
        try:
            given = tool.arguments.model_validate(params.arguments or {})
            if params.request_state is not None:
                return await self._continued(context, tool, given, params)
            return await self._called(context, tool, given, params)
        except ValidationError as exc:
            faults = exc.errors(include_url=False, include_context=False, include_input=False)
            words = "; ".join(
                f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in faults[:10]
            )
            return _failed(f"the arguments do not fit: {words}")
        except (AgenticError, ValueError) as exc:
            return _failed(_words(exc))
        except Exception as exc:
            log.exception("tool.failed", tool=tool.name, error=mask_known(line_of(exc)))
            raise MCPError(
                types.INTERNAL_ERROR, f"{tool.name} failed; the log of the server says why"
            ) from None

    async def _called(
        self, context: Context, tool: ServedTool, given: BaseModel, params: types.CallToolRequestParams
    ) -> Result:
        key = (params.meta or {}).get(IDEMPOTENCY_KEY, "")
        has_tasks = _has_tasks(context)
        call = ClientCall(
            key=key if isinstance(key, str) else "", by=_name_of(context), can_wait=not has_tasks
        )
        found = await tool.act(self._acts, given, call)
        if not isinstance(found, RunFacts):
            return _result(found)
        if has_tasks and not found.has_ended:
            return CreatedTask(task_id=found.run_id, poll_interval_ms=POLL_MS, status="working", **_times())
        return self._shown(context, found)

    async def _continued(
        self, context: Context, tool: ServedTool, given: BaseModel, params: types.CallToolRequestParams
    ) -> Result:
        """Take the answers to a run's requests, and wait for its end again."""
        run_id = params.request_state or ""
        if tool.is_read_only or not isinstance(given, WaitArguments):
            return _failed(f"{tool.name} asks no questions, so it takes no answers")
        await self._answer(context, run_id, params.input_responses or {})
        return self._shown(context, await self._acts.waited(run_id, given.wait_s))

    def _shown(self, context: Context, found: RunFacts) -> Result:
        """Return the state of a run; its requests as questions, if the client can ask its user."""
        if found.requests and not self._is_read_only and _can_ask(context):
            return types.InputRequiredResult(
                input_requests=questions_of(found.requests), request_state=found.run_id
            )
        return _result({**found.facts, "state": found.state}, is_error=found.state == "failed")

    async def _answer(self, context: Context, run_id: str, responses: types.InputResponses) -> None:
        open_ones = await in_thread(self._acts.views.open_requests, run_id)
        # Answers to requests that were answered meanwhile are left out, as the extension wants.
        if answers := answers_to(open_ones, responses):
            await self._acts.answer(run_id, answers, _name_of(context))

    async def _get_task(self, context: Context, params: TaskParams) -> DetailedTask:
        del context
        found = await self._task(params.task_id)
        facts: dict[str, Any] = {"task_id": found.run_id, "poll_interval_ms": POLL_MS, **_times(found)}
        match found.state:
            case "completed" | "failed":
                result = _result({**found.facts, "state": found.state}, is_error=found.state == "failed")
                shown = result.model_dump(by_alias=True, mode="json", exclude_none=True)
                return DetailedTask(status="completed", result=shown, **facts)
            case "input_required":
                return DetailedTask(
                    status="input_required", input_requests=questions_of(found.requests), **facts
                )
            case "cancelled":
                return DetailedTask(status="cancelled", **facts)
            case _:
                return DetailedTask(status="working", **facts)

    async def _update_task(self, context: Context, params: UpdateTaskParams) -> TaskAcknowledged:
        await self._task(params.task_id)
        try:
            await self._answer(context, params.task_id, params.input_responses)
        except (AgenticError, ValueError) as exc:
            raise MCPError(types.INVALID_PARAMS, _words(exc)) from None
        return TaskAcknowledged()

    async def _cancel_task(self, context: Context, params: TaskParams) -> TaskAcknowledged:
        await self._task(params.task_id)
        try:
            await self._acts.cancel(params.task_id, _name_of(context))
        except UnknownRunError:
            raise _no_task(params.task_id) from None
        return TaskAcknowledged()

    async def _task(self, task_id: str) -> RunFacts:
        try:
            return await self._acts.progress(task_id)
        except (UnknownExecutionError, ValueError):
            raise _no_task(task_id) from None

    async def _list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        del context, params
        found = [
            types.Resource(uri=uri, name=name, description=words, mime_type=JSON)
            for uri, (name, words) in LISTED.items()
        ]
        return types.ListResourcesResult(resources=found)

    async def _list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        del context, params
        found = [
            types.ResourceTemplate(uri_template=uri, name=name, description=words, mime_type=JSON)
            for uri, (name, words) in TEMPLATES.items()
        ]
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        del context
        uri = str(params.uri)
        read = reader_of(self._acts.views, uri)
        if read is None:
            raise MCPError(types.INVALID_PARAMS, f"no resource is at {uri[:MAX_NAME]}")
        try:
            found = await in_thread(read)
        except (AgenticError, ValueError) as exc:
            raise MCPError(types.INVALID_PARAMS, _words(exc)) from None
        contents = types.TextResourceContents(uri=uri, mime_type=JSON, text=_text(found))
        return types.ReadResourceResult(contents=[contents])


def _listed(tool: ServedTool) -> types.Tool:
    schema = tool.arguments.model_json_schema()
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema={key: part for key, part in schema.items() if key not in {"title", "description"}},
        annotations=types.ToolAnnotations(
            read_only_hint=tool.is_read_only,
            destructive_hint=tool.name == "cancel_execution",
            open_world_hint=False,
        ),
    )


def _result(found: JSONValue, *, is_error: bool = False) -> types.CallToolResult:
    structured = found if isinstance(found, dict) else {"result": found}
    text = types.TextContent(text=_text(found))
    return types.CallToolResult(content=[text], structured_content=structured, is_error=is_error)


def _failed(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=words)], is_error=True)


def _words(error: Exception) -> str:
    """Return an error for a client: our own ones are sentences, others need their class."""
    return mask_known(str(error) if isinstance(error, AgenticError) else line_of(error))


def _text(found: JSONValue) -> str:
    return json.dumps(found, ensure_ascii=False)


def _times(found: RunFacts | None = None) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    created = now if found is None else str(found.facts.get("created_at", now))
    return {"created_at": created, "last_updated_at": now, "ttl_ms": None}


def _has_tasks(context: Context) -> bool:
    """Whether this request declares the tasks extension; the protocol asks for it in each request."""
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    declared = context.session.client_capabilities
    return declared is not None and TASKS in (declared.extensions or {})


def _can_ask(context: Context) -> bool:
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    declared = context.session.client_capabilities
    return declared is not None and declared.elicitation is not None


def _name_of(context: Context) -> str:
    """Return the name of the client, for the record; it says so itself."""
    params = context.session.client_params
    name = "" if params is None else params.client_info.name
    return f"mcp:{name[:MAX_NAME]}" if name else "mcp"


def _no_task(task_id: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"no task is called {task_id[:MAX_NAME]!r}")

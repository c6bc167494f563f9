"""The tools of an MCP server as tools of an agent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from mcp import Client, MCPError, types
from mcp.client.extension import ClientExtension, ResultClaim
from pydantic import ValidationError

from agentic.core.agents import Tool, ToolDefinitionError, Toolset
from agentic.core.agents.tools.tool import NAME
from agentic.core.errors import line_of
from agentic.core.hooks.fitting import DISTRIBUTION
from agentic.core.llm.nesting import is_too_deep
from agentic.core.logging import get_logger
from agentic.core.masking import Masker, is_telling, parts_of
from agentic.core.types import JSONValue
from agentic.plugins.mcp.client.connection import ConnectionLostError, McpConnection
from agentic.plugins.mcp.client.errors import McpConnectionError, McpProtocolError
from agentic.plugins.mcp.client.holding import HOLD_S, AskedQuestion, HeldCalls, Outcome
from agentic.plugins.mcp.client.tool import McpTool
from agentic.plugins.mcp.client.transports import HttpWay, ObjectWay, ProcessWay, ServerWay
from agentic.plugins.mcp.wire import (
    IDEMPOTENCY_KEY,
    TASKS,
    CreatedTask,
    DetailedTask,
    GetTask,
    TaskAcknowledged,
    TaskParams,
    UpdateTask,
    UpdateTaskParams,
)

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext

log = get_logger(__name__)

T = TypeVar("T")

MAX_PAGES = 100
MAX_TOOLS = 2_000
MAX_DESCRIPTION = 8_000
MAX_SCHEMA_CHARS = 100_000

ApprovalRule = Literal["never", "always", "writes"] | Mapping[str, Literal["never", "always"]]


class McpToolset(Toolset):
    """The tools of an MCP server, for ``ChatAgent(tools=[...])``.

    It connects when an agent first asks for its tools, and again after a lost connection. Servers of the
    protocol 2026-07-28 and of all handshake versions before it are understood. Questions of a server
    (elicitation) are pending requests of the agent. A call that continues as a task on the server is kept in
    the thread, and asked for by any process.

    Args:
        server: A URL, a command as a list, or a server object of the SDK in this process.
        name: Begins the names of its tools, with ``_``.
        token: Sent as ``Authorization: Bearer``.
        headers: Sent with each request.
        env: Environment of a command. It inherits only ``PATH``, ``HOME`` and a few like them.
        only: The server's names of the tools to use; all if omitted.
        without: The server's names of tools to leave out.
        rename: The server's name -> the name here.
        approval: Whether a person must approve calls: of all tools, of those that the server does not call
            read-only (``writes``), or by the server's name of the tool.
        timeout_s: Seconds that a request may take.
        optional: Continue without its tools while the server cannot be reached.
        mode: ``auto``, ``legacy`` for the handshake, or a version of the protocol.
        secrets: Texts that results and messages never show, besides the token and secrets by their names.

    Raises:
        ToolDefinitionError: ``server`` is nothing of that kind, or ``approval`` is not a rule.
    """

    def __init__(  # noqa: PLR0913  # the facts of a server, all optional
        self,
        server: Any,  # noqa: ANN401  # or an object of the SDK
        *,
        name: str = "",
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        only: Iterable[str] = (),
        without: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
        approval: ApprovalRule = "never",
        timeout_s: float = 60.0,
        optional: bool = False,
        mode: str = "auto",
        secrets: Iterable[str] = (),
    ) -> None:
        sent = {**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
        way = _way(server, sent, env or {})
        self.name = name or way.label
        way.label = self.name
        self.is_optional = optional
        self.timeout_s = timeout_s
        self._prefix = f"{name}_" if name else ""
        self._only, self._without, self._rename = set(only), set(without), dict(rename or {})
        self._approval: ApprovalRule = _checked_rule(self.name, approval)
        self._mode = mode
        telling = [value for key, value in (*sent.items(), *(env or {}).items()) if is_telling(key)]
        hidden = [*secrets, *telling, *([token] if token else [])]
        self._masker = Masker.of(part for value in hidden for part in parts_of(value))
        self._held = HeldCalls(timeout_s)
        self._connection = McpConnection(way, self._client)

    async def tools(self) -> Sequence[Tool]:
        """Return its tools, by name; see :class:`Toolset`.

        Raises:
            McpConnectionError: It cannot be reached.
            McpProtocolError: Its list of tools cannot be used.
            ToolDefinitionError: It has no tool that ``only``, ``without``, ``rename`` or ``approval`` names.
        """
        try:
            listed = await self._listed()
        except McpConnectionError as exc:
            if not self.is_optional:
                raise
            log.warning("toolset.missing", server=self.name, reason=line_of(exc))
            return ()
        self._check_named(listed)
        chosen = [
            one
            for one in listed
            if (not self._only or one.name in self._only) and one.name not in self._without
        ]
        made: dict[str, McpTool] = {}
        for one in chosen:
            if one.name in made:
                log.warning(
                    "tool.left_out", server=self.name, tool=one.name[:200], reason="it is listed twice"
                )
            elif (tool := self._tool(one)) is not None:
                made[one.name] = tool
        return sorted(made.values(), key=lambda tool: tool.name)

    async def _listed(self) -> Sequence[types.Tool]:
        try:
            return await self._ask(_list_tools, is_repeatable=True)
        except MCPError as exc:
            if exc.error.code == types.METHOD_NOT_FOUND:
                return ()  # it has resources or prompts only
            raise McpConnectionError(self.name, self.masked(exc.error.message[:500])) from None
        except ValidationError as exc:
            faults = exc.errors(include_url=False, include_context=False, include_input=False)
            shown = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults[:3])
            raise McpProtocolError(
                f"the list of tools of the MCP server {self.name} does not follow the protocol: "
                f"{self.masked(shown)[:500]}; mend the server (tools.0 is its first tool)"
            ) from None

    async def aclose(self) -> None:
        """Close the connection; see :class:`Toolset`."""
        self._held.close()
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

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
        """Call a tool of the server: one round, which may end with questions or a task.

        Args:
            tool: The server's name of it.
            arguments: Its arguments.
            key: The same for every try of the call.
            responses: Answers to the questions of the round before.
            state: The state of the round before.
            is_repeatable: Whether to call again if the connection was lost during the call.

        Raises:
            McpConnectionError: The server cannot be reached.
            MCPError: It refused the call.
        """
        meta = cast(types.RequestParamsMeta, {IDEMPOTENCY_KEY: key}) if key else None

        async def work(client: Client) -> Outcome:
            found = await client.session.call_tool(
                tool,
                dict(arguments),
                read_timeout_seconds=HOLD_S,  # a person may be asked meanwhile; the limit is in HeldCalls
                input_responses=responses,
                request_state=state,
                meta=meta,
                allow_input_required=True,
                allow_claimed=True,
            )
            return cast(Outcome, found)

        return await self._held.begin(self._ask(work, is_repeatable=is_repeatable))

    async def resume_call(self, token: str, answer: types.ElicitResult) -> Outcome | AskedQuestion:
        """Answer a question in the middle of a call.

        Raises:
            ToolError: The call has ended with its connection, or its process.
        """
        return await self._held.resume(token, answer)

    async def task(self, task_id: str) -> DetailedTask:
        """Return the state of a task."""

        async def work(client: Client) -> DetailedTask:
            return await client.session.send_request(
                GetTask(params=TaskParams(task_id=task_id)), DetailedTask
            )

        return await self._ask(work, is_repeatable=True)

    async def update_task(self, task_id: str, responses: types.InputResponses) -> None:
        """Answer the questions of a task."""

        async def work(client: Client) -> TaskAcknowledged:
            params = UpdateTaskParams(task_id=task_id, input_responses=responses)
            return await client.session.send_request(UpdateTask(params=params), TaskAcknowledged)

        await self._ask(work, is_repeatable=True)

    def masked(self, text: str) -> str:
        """Return a text without the secrets of the connection."""
        return self._masker.text(text, "***")

    def masked_value(self, value: JSONValue) -> JSONValue:
        """Return a value without the secrets of the connection."""
        return self._masker.data(value, "***")

    async def _ask(self, work: Callable[[Client], Awaitable[T]], *, is_repeatable: bool) -> T:
        try:
            try:
                return await self._connection.request(work)
            except ConnectionLostError:
                if not is_repeatable:
                    raise
            except MCPError as exc:
                if not _is_forgotten(exc):
                    raise
                # A server that was started again knows no old session, so it has not done the work.
                await self._connection.aclose()
            return await self._connection.request(work)
        except McpConnectionError as exc:
            raise type(exc)(self.name, self.masked(exc.reason)) from None

    def _client(self, target: Any) -> Client:  # noqa: ANN401  # of the SDK
        return Client(
            target,
            mode=self._mode,
            read_timeout_seconds=self.timeout_s,
            client_info=types.Implementation(name=DISTRIBUTION, version=version(DISTRIBUTION)),
            elicitation_callback=self._elicit,
            extensions=[_TasksExtension()],
        )

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Answer a question in the middle of a call; only servers of the handshake versions ask so."""
        del context
        answer = await self._held.ask(params)
        if answer is None:
            log.warning("question.refused", server=self.name, reason="several calls are running")
            return types.ElicitResult(action="cancel")
        return answer

    def _tool(self, listed: types.Tool) -> McpTool | None:
        schema = cast(dict[str, JSONValue], listed.input_schema)
        fault = _schema_fault(schema)
        if fault is not None:
            log.warning("tool.left_out", server=self.name, tool=listed.name[:200], reason=fault)
            return None
        hints = listed.annotations
        is_read_only = hints is not None and hints.read_only_hint is True
        return McpTool(
            self,
            listed.name,
            self._local_name(listed.name),
            self.masked(
                (listed.description or listed.title or f"{listed.name} of {self.name}")[:MAX_DESCRIPTION]
            ),
            {**schema, "type": "object"},
            needs_approval=self._needs_approval(listed.name, is_read_only=is_read_only),
            is_repeatable=is_read_only or (hints is not None and hints.idempotent_hint is True),
        )

    def _local_name(self, name: str) -> str:
        if name in self._rename:
            return self._rename[name]
        word = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in name)
        whole = f"{self._prefix}{word}"
        if whole == f"{self._prefix}{name}" and NAME.fullmatch(whole):
            return whole
        # Two names of the server that differ only there stay two names here.
        return f"{whole[:55]}_{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"

    def _needs_approval(self, name: str, *, is_read_only: bool) -> bool:
        if isinstance(self._approval, Mapping):
            return self._approval.get(name) == "always"
        return self._approval == "always" or (self._approval == "writes" and not is_read_only)

    def _check_named(self, listed: Sequence[types.Tool]) -> None:
        known = {one.name for one in listed}
        rules = self._approval if isinstance(self._approval, Mapping) else {}
        for name in (*self._only, *self._without, *self._rename, *rules):
            if name not in known:
                raise ToolDefinitionError(
                    f"the MCP server {self.name} has no tool {name!r:.100} (it has: "
                    f"{', '.join(sorted(known))[:1_000] or 'none'})"
                )


class _TasksExtension(ClientExtension):
    """Declares that calls may continue as tasks."""

    identifier = TASKS

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """Claim the results of calls that are tasks."""
        return [ResultClaim(result_type="task", model=CreatedTask, resolve=_unresolved)]


async def _unresolved(*_: object) -> types.CallToolResult:
    raise NotImplementedError  # McpTool asks for tasks itself


async def _list_tools(client: Client) -> list[types.Tool]:
    found: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None or len(found) > MAX_TOOLS:
            break
    if cursor is not None or len(found) > MAX_TOOLS:
        raise McpProtocolError(f"the list of tools of an MCP server has no end (after {len(found)} tools)")
    return found


def _checked_rule(server: str, rule: ApprovalRule) -> ApprovalRule:
    """Refuse a rule that would never ask."""
    words: Iterable[object] = rule.values() if isinstance(rule, Mapping) else (rule,)
    known = ("never", "always") if isinstance(rule, Mapping) else ("never", "always", "writes")
    if odd := [word for word in words if word not in known]:
        raise ToolDefinitionError(
            f"the approval of the MCP server {server} is {odd[0]!r:.100}; use one of: {', '.join(known)}"
        )
    return rule


def _way(server: object, headers: Mapping[str, str], env: Mapping[str, str]) -> ServerWay:
    if isinstance(server, str):
        if not server.startswith(("http://", "https://")):
            raise ToolDefinitionError(
                f"{server!r:.100} is not an MCP server: use a URL (https://host/mcp), or a command as a list"
            )
        return HttpWay(server, headers)
    if isinstance(server, Sequence):
        if not server or not all(isinstance(part, str) for part in server):
            raise ToolDefinitionError("the command of an MCP server is a list of texts, the program first")
        return ProcessWay(server, env)
    return ObjectWay(server)


def _schema_fault(schema: Mapping[str, JSONValue]) -> str | None:
    if schema.get("type", "object") != "object":
        return "its arguments are not an object"
    if is_too_deep(cast(JSONValue, schema)):
        return "the schema of its arguments is nested too deeply"
    if len(json.dumps(schema)) > MAX_SCHEMA_CHARS:
        return f"the schema of its arguments has more than {MAX_SCHEMA_CHARS} characters"
    return None


def _is_forgotten(error: MCPError) -> bool:
    return error.error.message == "Session terminated"

"""The requests of A2A to an agent, over any protocol: the SDK's dispatchers call this."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from types import CoroutineType
from typing import Any, ParamSpec, TypeVar, cast

from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors as wrong
from a2a.utils.proto_utils import validate_proto_required_fields

from agentic.core.errors import line_of
from agentic.core.ids import new_id
from agentic.core.logging import get_logger
from agentic.plugins.a2a.errors import A2AError
from agentic.plugins.a2a.serving.pushing import PushTarget
from agentic.plugins.a2a.serving.service import AgentService, TaskStateError, UnknownTaskError
from agentic.plugins.a2a.tasks.entries import TaskView, viewed
from agentic.plugins.a2a.tasks.log import TaskKey
from agentic.plugins.a2a.vocabulary import CURSOR_HEADER
from agentic.plugins.a2a.wire import document_of, event_message, task_message

log = get_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

MAX_PAGE = 100
FIRST_PAGE = 50
MAX_WAITING = 1_000
"""Callers of one agent that wait for tasks, or read their events, at a time."""

MAX_LISTED = 1_000
"""Of a caller's tasks, the newest: a list looks at no others."""


def as_a2a(exc: Exception) -> wrong.A2AError:
    """Return an error as callers read it: without facts of the server."""
    match exc:
        case wrong.A2AError():
            return exc
        case UnknownTaskError():
            return wrong.TaskNotFoundError(str(exc))
        case TaskStateError():
            return wrong.UnsupportedOperationError(str(exc))
        case A2AError():
            return wrong.InvalidParamsError(str(exc))
    log.warning("a2a.request_failed", error=line_of(exc))
    return wrong.InternalError("the server could not handle the request; its log has the reason")


def answering(method: Callable[P, Awaitable[T]]) -> Callable[P, CoroutineType[Any, Any, T]]:
    """Check the request of a method, and turn its errors into errors of A2A."""

    @functools.wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            _check(args)
            return await method(*args, **kwargs)
        except Exception as exc:  # callers get an error of the protocol
            raise as_a2a(exc) from exc

    return cast("Callable[P, CoroutineType[Any, Any, T]]", call)  # as the SDK's base class declares it


def streaming(
    method: Callable[P, AsyncGenerator[Event, None]],
) -> Callable[P, AsyncGenerator[Event, None]]:
    """Do as :func:`answering`, for a method that streams."""

    @functools.wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Event, None]:
        try:
            _check(args)
            async with aclosing(method(*args, **kwargs)) as events:
                async for event in events:
                    yield event
        except Exception as exc:  # as above
            raise as_a2a(exc) from exc

    return call


def _check(args: tuple[Any, ...]) -> None:
    validate_proto_required_fields(args[1])


class AgentRequests(RequestHandler):
    """Answers the requests of A2A from the service of an agent.

    Args:
        service: The service.
        card: Of the agent.
    """

    def __init__(self, service: AgentService, card: pb.AgentCard) -> None:
        self._service = service
        self._waiting_count = 0
        self.card = card

    @answering
    async def on_message_send(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> pb.Task | pb.Message:
        """Take a message, and return its task once it has ended or waits, or at once."""
        key = await self._accept(params, context)
        view = await self._known(key)
        if not params.configuration.return_immediately:
            view = await self._settled(key, view)
        return task_message(view, history=_history(params.configuration))

    @streaming
    async def on_message_send_stream(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Take a message, and send its task and what happens to it."""
        key = await self._accept(params, context)
        view = await self._known(key)
        yield task_message(view, history=_history(params.configuration))
        async for event in self._events(key, view, view.count):
            yield event

    @answering
    async def on_get_task(self, params: pb.GetTaskRequest, context: ServerCallContext) -> pb.Task:
        """Return a task."""
        _, view = await self._service.view(user_of(context), params.id)
        return task_message(view, history=_history(params))

    @answering
    async def on_list_tasks(
        self, params: pb.ListTasksRequest, context: ServerCallContext
    ) -> pb.ListTasksResponse:
        """Return the caller's tasks, the newest first."""
        size = params.page_size if params.HasField("page_size") else FIRST_PAGE
        if not 1 <= size <= MAX_PAGE:
            raise wrong.InvalidParamsError(f"the page size {size} is not between 1 and {MAX_PAGE}")
        keys = list(await self._service.tasks.tasks_of(user_of(context)))[:MAX_LISTED]
        views = [
            view for key in keys if (view := await self._service.tasks.read(key)) and _fits(view, params)
        ]
        views.sort(key=_changed_at, reverse=True)
        begin = _offset(params.page_token, views)
        page = views[begin : begin + size]
        rest = begin + size < len(views)
        return pb.ListTasksResponse(
            tasks=[
                task_message(view, history=_history(params) or 0, with_artifacts=params.include_artifacts)
                for view in page
            ],
            next_page_token=page[-1].facts.id if rest else "",
            page_size=size,
            total_size=len(views),
        )

    @answering
    async def on_cancel_task(self, params: pb.CancelTaskRequest, context: ServerCallContext) -> pb.Task:
        """Cancel a task."""
        try:
            return task_message(await self._service.cancel(user_of(context), params.id))
        except TaskStateError as exc:
            raise wrong.TaskNotCancelableError(str(exc)) from exc

    @streaming
    async def on_subscribe_to_task(
        self, params: pb.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Send a task and what happens to it; with a cursor, what happened after it."""
        key, view = await self._service.view(user_of(context), params.id)
        cursor = _cursor(context)
        if cursor is None:
            if view.state.is_final:
                raise wrong.UnsupportedOperationError(f"task {params.id} has ended; read it with GetTask")
            yield task_message(view)
            cursor = view.count
        else:
            cursor = min(cursor, view.count)
            entries = await self._service.tasks.entries(key) or ()
            then = viewed(view.facts, entries[:cursor])  # not the status of now: its event follows
            yield task_message(then, history=0, with_artifacts=False)
        async for event in self._events(key, view, cursor):
            yield event

    @answering
    async def on_create_task_push_notification_config(
        self, params: pb.TaskPushNotificationConfig, context: ServerCallContext
    ) -> pb.TaskPushNotificationConfig:
        """Keep a target of push notifications."""
        key, view = await self._service.view(user_of(context), params.task_id)
        target = self._service.pushes.target(_target_facts(params), view.count)
        await self._service.pushes.keep(key, target)
        return _config(params.task_id, target)

    @answering
    async def on_get_task_push_notification_config(
        self, params: pb.GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> pb.TaskPushNotificationConfig:
        """Return a target of push notifications, without its credentials."""
        key, _ = await self._service.view(user_of(context), params.task_id)
        for target in await self._service.pushes.targets(key):
            if target.id == params.id:
                return _config(params.task_id, target)
        raise wrong.TaskNotFoundError(f"task {params.task_id} has no such target")

    @answering
    async def on_list_task_push_notification_configs(
        self, params: pb.ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> pb.ListTaskPushNotificationConfigsResponse:
        """Return the targets of push notifications, without their credentials."""
        key, _ = await self._service.view(user_of(context), params.task_id)
        targets = await self._service.pushes.targets(key)
        return pb.ListTaskPushNotificationConfigsResponse(
            configs=[_config(params.task_id, target) for target in targets]
        )

    @answering
    async def on_delete_task_push_notification_config(
        self, params: pb.DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Remove a target of push notifications."""
        key, _ = await self._service.view(user_of(context), params.task_id)
        if not await self._service.pushes.forget(key, params.id):
            raise wrong.TaskNotFoundError(f"task {params.task_id} has no such target")

    @answering
    async def on_get_extended_agent_card(
        self, params: pb.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> pb.AgentCard:
        """Refuse: the card has everything."""
        del params, context
        raise wrong.UnsupportedOperationError("this agent has no extended card")

    async def _accept(self, params: pb.SendMessageRequest, context: ServerCallContext) -> TaskKey:
        push = None
        if params.configuration.HasField("task_push_notification_config"):
            push = _target_facts(params.configuration.task_push_notification_config)
        return await self._service.accept(document_of(params.message), user_of(context), push=push)

    async def _known(self, key: TaskKey) -> TaskView:
        view = await self._service.tasks.read(key)
        if view is None:
            raise UnknownTaskError(key.task)
        return view

    @asynccontextmanager
    async def _waiting(self) -> AsyncGenerator[None, None]:
        """Count a caller that waits for a task.

        Raises:
            InternalError: Too many callers wait.
        """
        if self._waiting_count >= MAX_WAITING:
            raise wrong.InternalError("too many callers wait for tasks; ask again later")
        self._waiting_count += 1
        try:
            yield
        finally:
            self._waiting_count -= 1

    async def _settled(self, key: TaskKey, view: TaskView) -> TaskView:
        if view.is_open:
            async with self._waiting(), aclosing(self._service.tasks.follow(key, view.count)) as entries:
                async for _, entry in entries:
                    view = view.with_entry(entry)
                    if not view.is_open:
                        break
        return view

    async def _events(self, key: TaskKey, view: TaskView, after: int) -> AsyncGenerator[Event, None]:
        """Iterate over the events after a number, until the task has ended or waits."""
        if not view.is_open and after >= view.count:
            return
        async with self._waiting(), aclosing(self._service.tasks.follow(key, after)) as entries:
            async for number, entry in entries:
                if entry.is_event:
                    yield event_message(view, number, entry)
                if number > view.count:
                    view = view.with_entry(entry)
                if number >= view.count and not view.is_open:
                    return


def user_of(context: ServerCallContext) -> str:
    """Return the name of a caller; empty if callers have no names."""
    return context.user.user_name if context.user.is_authenticated else ""


def _cursor(context: ServerCallContext) -> int | None:
    headers = context.state.get("headers") or {}
    found = str(headers.get(CURSOR_HEADER, ""))
    if not found:
        return None
    if not (found.isascii() and found.isdigit() and len(found) < 16):
        raise wrong.InvalidParamsError(f"the header Last-Event-ID is not a sequence: {found[:40]!r}")
    return int(found)


def _history(params: Any) -> int | None:  # noqa: ANN401  # several requests have the field
    if not params.HasField("history_length"):
        return None
    if params.history_length < 0:
        raise wrong.InvalidParamsError("the history length is negative")
    return int(params.history_length)


def _fits(view: TaskView, params: pb.ListTasksRequest) -> bool:
    if params.context_id and params.context_id != view.facts.context:
        return False
    if params.status and pb.TaskState.Name(params.status) != view.state.value:
        return False
    since = params.status_timestamp_after if params.HasField("status_timestamp_after") else None
    return since is None or _changed_at(view) >= since.ToMicroseconds() / 1e6


def _changed_at(view: TaskView) -> float:
    return view.facts.created_at if view.status is None else view.status.at


def _offset(page_token: str, views: list[TaskView]) -> int:
    if not page_token:
        return 0
    for number, view in enumerate(views):
        if view.facts.id == page_token:
            return number + 1
    raise wrong.InvalidParamsError("the page token is not known: begin with the first page again")


def _target_facts(config: pb.TaskPushNotificationConfig) -> dict[str, object]:
    return {
        "id": config.id or new_id(),
        "url": config.url,
        "token": config.token,
        "scheme": config.authentication.scheme,
        "credentials": config.authentication.credentials,
    }


def _config(task_id: str, target: PushTarget) -> pb.TaskPushNotificationConfig:
    return pb.TaskPushNotificationConfig(
        task_id=task_id,
        id=target.id,
        url=target.url,
        authentication=pb.AuthenticationInfo(scheme=target.scheme) if target.scheme else None,
    )

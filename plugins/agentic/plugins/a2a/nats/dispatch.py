"""Requests on a bus as calls of the handler."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from a2a.auth.user import User
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors as wrong
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import ParseError
from google.protobuf.message import Message as ProtoMessage

from agentic.plugins.a2a.nats.frames import CallRequest
from agentic.plugins.a2a.wire import document_of, parsed

GET_CARD = "GetAgentCard"
"""Our method for the card; over HTTP it is a file."""

METHODS: dict[str, tuple[type[ProtoMessage], str]] = {
    "SendMessage": (pb.SendMessageRequest, "on_message_send"),
    "SendStreamingMessage": (pb.SendMessageRequest, "on_message_send_stream"),
    "GetTask": (pb.GetTaskRequest, "on_get_task"),
    "ListTasks": (pb.ListTasksRequest, "on_list_tasks"),
    "CancelTask": (pb.CancelTaskRequest, "on_cancel_task"),
    "SubscribeToTask": (pb.SubscribeToTaskRequest, "on_subscribe_to_task"),
    "CreateTaskPushNotificationConfig": (
        pb.TaskPushNotificationConfig,
        "on_create_task_push_notification_config",
    ),
    "GetTaskPushNotificationConfig": (
        pb.GetTaskPushNotificationConfigRequest,
        "on_get_task_push_notification_config",
    ),
    "ListTaskPushNotificationConfigs": (
        pb.ListTaskPushNotificationConfigsRequest,
        "on_list_task_push_notification_configs",
    ),
    "DeleteTaskPushNotificationConfig": (
        pb.DeleteTaskPushNotificationConfigRequest,
        "on_delete_task_push_notification_config",
    ),
    "GetExtendedAgentCard": (pb.GetExtendedAgentCardRequest, "on_get_extended_agent_card"),
}
STREAMS = frozenset({"SendStreamingMessage", "SubscribeToTask"})


class NamelessUser(User):
    """A caller without a name: all programs that may use the bus, or have the token of a server, are one."""

    @property
    def is_authenticated(self) -> bool:
        """Whether it has a name."""
        return False

    @property
    def user_name(self) -> str:
        """No name."""
        return ""


async def answers(
    handler: RequestHandler, card: Callable[[], pb.AgentCard], asked: CallRequest
) -> AsyncGenerator[dict[str, Any], None]:
    """Iterate over the values of an answer.

    Raises:
        A2AError: The request has failed.
    """
    if asked.method == GET_CARD:
        yield document_of(card())
        return
    if asked.method not in METHODS:
        raise wrong.MethodNotFoundError(f"no method has the name {asked.method[:64]!r}")
    kind, name = METHODS[asked.method]
    try:
        params = parsed(asked.params, kind)
    except ParseError as exc:
        raise wrong.InvalidParamsError(f"the parameters are not a {kind.__name__}: {exc}") from None
    headers = {key.lower(): value for key, value in asked.headers.items()}
    context = ServerCallContext(user=NamelessUser(), state={"headers": headers, "method": asked.method})
    if asked.method in STREAMS:
        async with aclosing(getattr(handler, name)(params, context)) as events:
            async for event in events:
                yield document_of(to_stream_response(event))
        return
    result = await getattr(handler, name)(params, context)
    if isinstance(result, pb.Task) and asked.method == "SendMessage":
        result = pb.SendMessageResponse(task=result)
    yield {} if result is None else document_of(result)

"""The client's side of A2A over NATS: a transport of the SDK's client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.client import ClientCallContext
from a2a.client.errors import A2AClientError, A2AClientTimeoutError
from a2a.client.transports.base import ClientTransport
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP
from google.protobuf.message import Message as ProtoMessage
from pydantic import ValidationError

from agentic.core.bus import Bus, BusError
from agentic.core.errors import line_of
from agentic.plugins.a2a.nats.dispatch import GET_CARD
from agentic.plugins.a2a.nats.frames import (
    BEAT_S,
    AnswerFrame,
    CallRequest,
    FrameKind,
    Joiner,
    LostFrameError,
)
from agentic.plugins.a2a.vocabulary import NATS_BINDING
from agentic.plugins.a2a.wire import ParseError, document_of, parsed

ProtoT = TypeVar("ProtoT", bound=ProtoMessage)

SILENT_S = 4 * BEAT_S
"""Seconds without a frame after which a server is dead."""

MAX_VALUE_CHARS = 16 * 1024 * 1024

_ERRORS = {code: kind for kind, code in JSON_RPC_ERROR_CODE_MAP.items()}


class NatsClientTransport(ClientTransport):
    """Sends the requests of an A2A client to the subject of an agent.

    Args:
        bus: The bus.
        subject: Of the agent.
        silent_s: Seconds without a frame after which the server is taken for dead.
    """

    def __init__(self, bus: Bus, subject: str, *, silent_s: float = SILENT_S) -> None:
        self._bus = bus
        self._subject = subject
        self._silent_s = silent_s

    async def send_message(
        self, request: pb.SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> pb.SendMessageResponse:
        """Send a message."""
        return await self._ask("SendMessage", request, pb.SendMessageResponse, context)

    async def send_message_streaming(
        self, request: pb.SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[pb.StreamResponse, None]:
        """Send a message, and iterate over what happens."""
        async with aclosing(self._stream("SendStreamingMessage", request, context)) as events:
            async for event in events:
                yield event

    async def get_task(
        self, request: pb.GetTaskRequest, *, context: ClientCallContext | None = None
    ) -> pb.Task:
        """Return a task."""
        return await self._ask("GetTask", request, pb.Task, context)

    async def list_tasks(
        self, request: pb.ListTasksRequest, *, context: ClientCallContext | None = None
    ) -> pb.ListTasksResponse:
        """Return tasks."""
        return await self._ask("ListTasks", request, pb.ListTasksResponse, context)

    async def cancel_task(
        self, request: pb.CancelTaskRequest, *, context: ClientCallContext | None = None
    ) -> pb.Task:
        """Cancel a task."""
        return await self._ask("CancelTask", request, pb.Task, context)

    async def create_task_push_notification_config(
        self, request: pb.TaskPushNotificationConfig, *, context: ClientCallContext | None = None
    ) -> pb.TaskPushNotificationConfig:
        """Keep a target of push notifications."""
        return await self._ask(
            "CreateTaskPushNotificationConfig", request, pb.TaskPushNotificationConfig, context
        )

    async def get_task_push_notification_config(
        self, request: pb.GetTaskPushNotificationConfigRequest, *, context: ClientCallContext | None = None
    ) -> pb.TaskPushNotificationConfig:
        """Return a target of push notifications."""
        return await self._ask(
            "GetTaskPushNotificationConfig", request, pb.TaskPushNotificationConfig, context
        )

    async def list_task_push_notification_configs(
        self, request: pb.ListTaskPushNotificationConfigsRequest, *, context: ClientCallContext | None = None
    ) -> pb.ListTaskPushNotificationConfigsResponse:
        """Return the targets of push notifications."""
        kind = pb.ListTaskPushNotificationConfigsResponse
        return await self._ask("ListTaskPushNotificationConfigs", request, kind, context)

    async def delete_task_push_notification_config(
        self, request: pb.DeleteTaskPushNotificationConfigRequest, *, context: ClientCallContext | None = None
    ) -> None:
        """Remove a target of push notifications."""
        await self._ask("DeleteTaskPushNotificationConfig", request, pb.Task, context)

    async def subscribe(
        self, request: pb.SubscribeToTaskRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[pb.StreamResponse, None]:
        """Iterate over what happens to a task."""
        async with aclosing(self._stream("SubscribeToTask", request, context)) as events:
            async for event in events:
                yield event

    async def get_extended_agent_card(
        self, request: pb.GetExtendedAgentCardRequest, *, context: ClientCallContext | None = None
    ) -> pb.AgentCard:
        """Return the card of the agent."""
        del request, context
        return await self.card()

    async def card(self) -> pb.AgentCard:
        """Return the card of the agent."""
        return await self._ask(GET_CARD, pb.GetExtendedAgentCardRequest(), pb.AgentCard, None)

    async def close(self) -> None:
        """Do nothing: the bus belongs to its owner."""

    async def _stream(
        self, method: str, request: ProtoMessage, context: ClientCallContext | None
    ) -> AsyncGenerator[pb.StreamResponse, None]:
        async with aclosing(self._values(method, request, context)) as values:
            async for value in values:
                yield _read(value, pb.StreamResponse)

    async def _ask(
        self, method: str, request: ProtoMessage, kind: type[ProtoT], context: ClientCallContext | None
    ) -> ProtoT:
        async with aclosing(self._values(method, request, context)) as values:
            async for value in values:
                return _read(value, kind)
        raise A2AClientError(f"the answer to {method} has no value")

    async def _values(
        self, method: str, request: ProtoMessage, context: ClientCallContext | None
    ) -> AsyncGenerator[str, None]:
        headers = dict((context.service_parameters if context else None) or {})
        asked = CallRequest(method=method, params=document_of(request), headers=headers)
        inbox, joiner = self._bus.inbox(), Joiner(MAX_VALUE_CHARS)
        try:
            async with self._bus.listen(inbox) as frames:
                await self._bus.send(self._subject, asked.model_dump_json().encode(), reply=inbox)
                while True:
                    async with asyncio.timeout(self._silent_s):
                        message = await frames.next()
                    if message.nobody_listens:
                        raise A2AClientError(f"no server of the agent listens on {self._subject!r}")
                    frame = AnswerFrame.model_validate_json(message.payload)
                    value = joiner.take(frame)
                    if frame.kind is FrameKind.ERROR:
                        raise _ERRORS.get(frame.code, A2AClientError)(frame.text)
                    if frame.kind is FrameKind.END:
                        return
                    if value is not None:
                        yield value
        except TimeoutError:
            raise A2AClientTimeoutError(f"the server sent nothing for {self._silent_s:g} s") from None
        except (BusError, LostFrameError, ValidationError) as exc:
            raise A2AClientError(line_of(exc)) from exc


def _read(value: str, kind: type[ProtoT]) -> ProtoT:
    try:
        return parsed(json.loads(value), kind)
    except (ValueError, ParseError) as exc:
        raise A2AClientError(f"the server's answer is not a {kind.__name__}: {exc}") from None


def nats_client_factory(bus: Bus, config: ClientConfig | None = None) -> ClientFactory:
    """Return a factory of A2A clients that can also reach agents on a bus.

    Args:
        bus: The bus.
        config: Of its clients.
    """
    chosen = config or ClientConfig()
    if NATS_BINDING not in chosen.supported_protocol_bindings:
        chosen.supported_protocol_bindings = [*chosen.supported_protocol_bindings, NATS_BINDING]
    factory = ClientFactory(chosen)

    def made(card: pb.AgentCard, url: str, config: ClientConfig) -> ClientTransport:
        del card, config
        return NatsClientTransport(bus, url.removeprefix("nats:"))

    factory.register(NATS_BINDING, made)
    return factory


async def nats_client(bus: Bus, subject: str, *, silent_s: float = SILENT_S) -> Client:
    """Return the SDK's client of an agent on a bus.

    Args:
        bus: The bus.
        subject: Of the agent.
        silent_s: Seconds without a frame after which a server is taken for dead.
    """
    card = await NatsClientTransport(bus, subject, silent_s=silent_s).card()
    return nats_client_factory(bus).create(card)

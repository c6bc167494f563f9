"""Connections to remote agents, over NATS or HTTP: the SDK's client, with our limits and errors."""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import cache
from typing import Any

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import ClientCallContext
from a2a.client.errors import A2AClientError, AgentCardResolutionError
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors as wrong

from agentic.core.bus import Bus, BusError
from agentic.core.errors import line_of
from agentic.core.http import InvalidUrlError
from agentic.core.http.urls import origin_of
from agentic.plugins.a2a.errors import RemoteAgentDeniedError, RemoteAgentError, RemoteAgentUnavailableError
from agentic.plugins.a2a.http.bounding import BoundedTransport
from agentic.plugins.a2a.nats.buses import opened_bus
from agentic.plugins.a2a.nats.transport import nats_client_factory
from agentic.plugins.a2a.remote.addresses import HttpAddress, NatsAddress
from agentic.plugins.a2a.vocabulary import CURSOR_HEADER, NATS_BINDING, SEQUENCE
from agentic.plugins.a2a.wire import document_of, parsed

CONNECT_S = 10.0
SILENT_S = 60.0
"""Seconds without data after which a server is away; servers of the SDK send a sign of life every 15 s."""

CARD_KEPT_S = 300.0
BINDINGS = ["JSONRPC", "HTTP+JSON"]

NOT_KNOWN = (wrong.TaskNotFoundError,)
NOT_POSSIBLE = (wrong.UnsupportedOperationError, wrong.MethodNotFoundError, NotImplementedError)


class NotPossibleError(Exception):
    """The remote agent does not offer a method, or not in this state of the task."""


class UnknownRemoteTaskError(Exception):
    """The remote agent does not know a task, or no longer."""


class Connection:
    """A connection to a remote agent.

    Args:
        agent: Its name, for errors.
        client: The SDK's client.
        sender: The SDK's client without streams, for messages.
        card: Its card.
        timeout_s: Seconds until a message must be accepted.
    """

    def __init__(
        self, agent: str, client: Client, sender: Client, card: pb.AgentCard, timeout_s: float
    ) -> None:
        self._agent = agent
        self._client = client
        self._sender = sender
        self._timeout_s = timeout_s
        self.has_streams = card.capabilities.streaming
        self.has_cursor = any(one.uri == SEQUENCE for one in card.capabilities.extensions)

    async def send(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message; return its task as soon as it exists, or the answer of an agent without tasks."""
        request = pb.SendMessageRequest(message=parsed(message, pb.Message))
        request.configuration.return_immediately = True
        context = ClientCallContext(timeout=self._timeout_s)
        with telling(self._agent):
            async with aclosing(_generator(self._sender.send_message(request, context=context))) as responses:
                async for response in responses:
                    return document_of(response)
        raise RemoteAgentError(self._agent, "it did not answer a message")

    async def task(self, task: str) -> dict[str, Any]:
        """Return a task."""
        with telling(self._agent):
            return {"task": document_of(await self._client.get_task(pb.GetTaskRequest(id=task)))}

    async def tasks(self, context: str) -> list[dict[str, Any]]:
        """Return the tasks of a conversation."""
        request = pb.ListTasksRequest(context_id=context, page_size=100, history_length=100)
        with telling(self._agent):
            found = await self._client.list_tasks(request)
        return [{"task": document_of(task)} for task in found.tasks]

    async def events(self, task: str, after: int | None) -> AsyncGenerator[dict[str, Any], None]:
        """Iterate over the events of a task.

        Args:
            task: The task.
            after: The cursor to continue after, for servers that have one: 0 for all events. None, and from
                other servers, begins with the task as it is.
        """
        context = ClientCallContext()
        is_resumed = self.has_cursor and after is not None
        if is_resumed:
            context.service_parameters = {CURSOR_HEADER: str(after)}
        events = self._client.subscribe(pb.SubscribeToTaskRequest(id=task), context=context)
        with telling(self._agent):
            async with aclosing(_generator(events)) as responses:
                async for response in responses:
                    if is_resumed and response.HasField("task"):
                        continue  # it only stands for the place: the events follow
                    yield document_of(response)

    async def cancel(self, task: str) -> bool:
        """Cancel a task; False if it has ended."""
        try:
            with telling(self._agent):
                await self._client.cancel_task(pb.CancelTaskRequest(id=task))
        except NotPossibleError:
            return False
        return True


def _generator(events: Any) -> Any:  # noqa: ANN401  # the SDK calls its generators iterators
    return events


@contextmanager
def telling(agent: str) -> Iterator[None]:
    """Make errors of the SDK ours.

    Args:
        agent: Name of the remote agent.

    Raises:
        NotPossibleError: The remote agent does not offer it.
        UnknownRemoteTaskError: It does not know the task.
        RemoteAgentDeniedError: It refuses the credentials.
        RemoteAgentUnavailableError: It cannot be reached.
        RemoteAgentError: It refuses the request.
    """
    try:
        yield
    except NOT_KNOWN as exc:
        raise UnknownRemoteTaskError(str(exc)) from exc
    except (*NOT_POSSIBLE, wrong.TaskNotCancelableError) as exc:
        raise NotPossibleError(str(exc)) from exc
    except A2AClientError as exc:
        raise _judged(agent, exc) from exc
    except (httpx.HTTPError, BusError) as exc:
        raise RemoteAgentUnavailableError(agent, line_of(exc)) from exc
    except wrong.InternalError as exc:
        raise RemoteAgentUnavailableError(agent, f"its server failed: {_short(exc)}") from exc
    except (wrong.A2AError, ValueError) as exc:
        raise RemoteAgentError(agent, f"it refused the request: {_short(exc)}") from exc


def _judged(agent: str, exc: A2AClientError) -> RemoteAgentError:
    cause = exc.__cause__
    if isinstance(cause, httpx.HTTPStatusError):
        status = cause.response.status_code
        if status in (401, 403):
            return RemoteAgentDeniedError(
                agent, f"it refuses the credentials (status {status}); check the token"
            )
        if status < 500 and status not in (408, 425, 429):
            return RemoteAgentError(agent, f"it refuses the request with status {status}; check the address")
        return RemoteAgentUnavailableError(agent, f"its server answers with status {status}")
    if isinstance(exc, AgentCardResolutionError) and not isinstance(cause, httpx.HTTPError):
        return RemoteAgentError(agent, f"its card cannot be read: {_short(exc)}")
    return RemoteAgentUnavailableError(agent, _short(exc))


def _short(exc: Exception) -> str:
    return line_of(exc)[:500]


class Connector:
    """Opens connections to one remote agent.

    Args:
        agent: Its name, for errors.
        address: Its address.
        bus: The bus, for an agent on one.
        token: Sent as a bearer token, to the address's own origin only.
        timeout_s: Seconds until a message must be accepted.
    """

    def __init__(
        self,
        agent: str,
        address: NatsAddress | HttpAddress,
        *,
        bus: Bus | str | None,
        token: str | None,
        timeout_s: float,
    ) -> None:
        self._agent = agent
        self._address = address
        self._bus = bus
        self._token = token
        self._timeout_s = timeout_s
        self._card: tuple[float, pb.AgentCard] | None = None

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Connection, None]:
        """Open a connection until the block ends: processes and event loops share none."""
        if isinstance(self._address, HttpAddress):
            async with self._http(self._address) as connection:
                yield connection
            return
        async with opened_bus(self._bus) as bus:
            card = _bus_card(self._agent, self._address.subject)
            client = nats_client_factory(bus).create(card)
            sender = nats_client_factory(bus, ClientConfig(streaming=False)).create(card)
            yield Connection(self._agent, client, sender, card, self._timeout_s)

    @asynccontextmanager
    async def _http(self, address: HttpAddress) -> AsyncGenerator[Connection, None]:
        headers = {"a2a-version": "1.0"} | ({"authorization": f"Bearer {self._token}"} if self._token else {})
        async with httpx.AsyncClient(
            transport=BoundedTransport(httpx.AsyncHTTPTransport(verify=_certificates())),
            headers=headers,
            timeout=httpx.Timeout(SILENT_S, connect=CONNECT_S),
            trust_env=False,
        ) as http:
            card = self._own(await self._card_of(http, address), address)
            streams, sends = (
                ClientConfig(httpx_client=http, supported_protocol_bindings=BINDINGS, streaming=streaming)
                for streaming in (True, False)
            )
            with telling(self._agent):
                client, sender = ClientFactory(streams).create(card), ClientFactory(sends).create(card)
            yield Connection(self._agent, client, sender, card, self._timeout_s)

    async def _card_of(self, http: httpx.AsyncClient, address: HttpAddress) -> pb.AgentCard:
        if self._card is None or time.monotonic() - self._card[0] > CARD_KEPT_S:
            with telling(self._agent):
                card = await A2ACardResolver(http, address.url).get_agent_card()
            self._card = (time.monotonic(), card)
        return self._card[1]

    def _own(self, card: pb.AgentCard, address: HttpAddress) -> pb.AgentCard:
        """Return a card with the interfaces at the agent's own origin: the token goes to no other host."""
        kept = [one for one in card.supported_interfaces if _is_at(one.url, address.origin)]
        usable = [one for one in kept if one.protocol_binding in BINDINGS]
        if not usable:
            named = ", ".join(
                sorted({f"{one.protocol_binding} {one.url}" for one in card.supported_interfaces})
            )
            raise RemoteAgentError(
                self._agent,
                f"its card names no JSONRPC or HTTP+JSON interface at {address.origin} (only: "
                f"{named[:300] or 'none'}); use the address that the card names",
            )
        own = pb.AgentCard()
        own.CopyFrom(card)
        del own.supported_interfaces[:]
        own.supported_interfaces.extend(usable)
        return own


@cache
def _certificates() -> ssl.SSLContext:
    return ssl.create_default_context()


def _is_at(url: str, origin: str) -> bool:
    try:
        return origin_of(url) == origin
    except InvalidUrlError:
        return False


def _bus_card(agent: str, subject: str) -> pb.AgentCard:
    """Return the card of an agent on a bus: all of them are servers of ours."""
    document: dict[str, Any] = {
        "name": agent,
        "supportedInterfaces": [
            {"url": f"nats:{subject}", "protocolBinding": NATS_BINDING, "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": True, "extensions": [{"uri": SEQUENCE}]},
    }
    return parsed(document, pb.AgentCard)

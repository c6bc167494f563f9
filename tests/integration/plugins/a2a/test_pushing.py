"""Push notifications: in order, at least once, and into no private network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors as wrong
from tests.integration.plugins.a2a.scene import everything, listening, saying

from agentic.core.agents import ChatAgent
from agentic.core.bus import Bus, MemoryBus
from agentic.core.llm import ScriptedModel
from agentic.plugins.a2a import serve_agent
from agentic.plugins.a2a.nats.frames import subject_of
from agentic.plugins.a2a.nats.transport import nats_client
from agentic.plugins.a2a.serving import running

pytestmark = [pytest.mark.integration, pytest.mark.requirement("AG22")]


class Receiver:
    """Takes notifications; refuses the first ones."""

    def __init__(self, refuses: int = 0) -> None:
        self.refuses = refuses
        self.heads: list[dict[str, str]] = []
        self.states: list[str] = []
        self.is_over = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            part = await receive()
            body += part.get("body", b"")
            if not part.get("more_body"):
                break
        self.refuses -= 1
        status = 500 if self.refuses >= 0 else 200
        if status == 200:
            self.heads.append({name.decode(): value.decode() for name, value in scope["headers"]})
            state = json.loads(body)["statusUpdate"]["status"]["state"]
            self.states.append(state)
            if state == "TASK_STATE_COMPLETED":
                self.is_over.set()
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def receiving(receiver: Receiver) -> AsyncIterator[str]:
    async with listening(lambda _: receiver) as url:
        yield url


def target(url: str) -> pb.TaskPushNotificationConfig:
    return pb.TaskPushNotificationConfig(
        id="mine",
        url=url,
        token="t0ken",
        authentication=pb.AuthenticationInfo(scheme="Bearer", credentials="s3cret"),
    )


def helper() -> ChatAgent[str]:
    return ChatAgent(ScriptedModel(["Hello."]), name="helper")


async def test_each_change_of_state_is_pushed_once_the_address_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "PUSH_AGAIN_S", 0.01)
    bus: Bus = MemoryBus()
    receiver = Receiver(refuses=2)
    async with receiving(receiver) as url, serve_agent(helper(), bus, push_to=("127.0.0.1",)):
        client = await nats_client(bus, subject_of("default", "helper"))
        request = saying("hi")
        request.configuration.task_push_notification_config.CopyFrom(target(url))
        events = await everything(client, request)
        async with asyncio.timeout(10):
            await receiver.is_over.wait()
        shown = await client.list_task_push_notification_configs(
            pb.ListTaskPushNotificationConfigsRequest(task_id=events[0].task.id)
        )
        task = events[0].task.id
        await client.delete_task_push_notification_config(
            pb.DeleteTaskPushNotificationConfigRequest(task_id=task, id="mine")
        )
        with pytest.raises(wrong.TaskNotFoundError):
            await client.get_task_push_notification_config(
                pb.GetTaskPushNotificationConfigRequest(task_id=task, id="mine")
            )
    names = ("SUBMITTED", "WORKING", "COMPLETED")
    assert receiver.states == [f"TASK_STATE_{name}" for name in names]
    assert {head["x-a2a-notification-token"] for head in receiver.heads} == {"t0ken"}
    assert {head["authorization"] for head in receiver.heads} == {"Bearer s3cret"}
    assert len({head["idempotency-key"] for head in receiver.heads}) == 3
    assert "s3cret" not in str(shown)
    assert "t0ken" not in str(shown)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/",
        "http://169.254.169.254/latest",
        "http://2130706433/",
        "ftp://x.example/",
        "http://u:p@x.example/",
        "no",
    ],
)
async def test_an_address_in_a_private_network_or_of_another_kind_is_refused(url: str) -> None:
    bus = MemoryBus()
    async with serve_agent(helper(), bus):
        client = await nats_client(bus, subject_of("default", "helper"))
        request = saying("hi")
        request.configuration.task_push_notification_config.CopyFrom(target(url))
        with pytest.raises(wrong.InvalidParamsError):
            await everything(client, request)
        assert not (await client.list_tasks(pb.ListTasksRequest())).tasks


@pytest.mark.parametrize("sent", ["t\r\nx-other: 1", "t\u00f6ken", "a b\x00"])
@pytest.mark.parametrize("place", ["token", "credentials"])
async def test_a_token_that_no_header_can_carry_is_refused(place: str, sent: str) -> None:
    bus = MemoryBus()
    async with serve_agent(helper(), bus):
        client = await nats_client(bus, subject_of("default", "helper"))
        request, wanted = saying("hi"), target("http://x.example/")
        setattr(wanted if place == "token" else wanted.authentication, place, sent)
        request.configuration.task_push_notification_config.CopyFrom(wanted)
        with pytest.raises(wrong.InvalidParamsError) as refused:
            await everything(client, request)
        assert place in str(refused.value)
        assert sent not in str(refused.value)
        assert not (await client.list_tasks(pb.ListTasksRequest())).tasks


async def test_a_name_that_resolves_to_a_private_address_gets_nothing_and_the_task_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "PUSH_AGAIN_S", 0.01)
    bus = MemoryBus()
    receiver = Receiver()
    async with receiving(receiver) as url, serve_agent(helper(), bus) as service:
        client = await nats_client(bus, subject_of("default", "helper"))
        request = saying("hi")
        request.configuration.task_push_notification_config.CopyFrom(
            target(url.replace("127.0.0.1", "localhost"))
        )
        events = await everything(client, request)
        assert events[-1].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED
        while await service.tasks.open_tasks():  # noqa: ASYNC110  # of the service
            await asyncio.sleep(0.02)
    assert receiver.heads == []

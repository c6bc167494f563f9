"""Secrets of pydantic's types: nothing that a run tells or keeps shows one."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from pydantic import BaseModel, Secret, SecretBytes, SecretStr

from agentic.core import (
    CustomEvent,
    MemoryCheckpointStore,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
)
from agentic.core.graph import UnencodableError, UnstorableTypesError, replay
from agentic.core.types import RunId

SECRETS = ("hunter2", "b1tes", "471104711047")


class Login(BaseModel):
    user: str
    password: SecretStr
    token: SecretBytes
    pin: Secret[int]


@dataclass
class Account:
    """Can be changed, so it is copied and described at the send."""

    login: Login


LOGIN = Login(
    user="ada", password=SecretStr("hunter2"), token=SecretBytes(b"b1tes"), pin=Secret[int](471104711047)
)


def flow() -> Workflow:
    @executor(id="send")
    async def send(login: Login, ctx: WorkflowContext) -> list[Account]:
        ctx.set_state("login", login)
        ctx.log("info", "logging in", login=login)  # type: ignore[arg-type]  # is described all the same
        await ctx.add_event(CustomEvent(type="login", data={"login": login}))  # type: ignore[dict-item]  # ditto
        await ctx.send_message(login)
        return [Account(login)]

    @executor(id="end")
    async def end(message: Login | list[Account]) -> object:
        return message

    return WorkflowBuilder("w", version="1").set_start(send).add_edge(send, end).build()


async def test_events_views_and_pictures_show_no_secret() -> None:
    workflow = flow()
    events = [event async for event in workflow.run_stream(LOGIN)]
    views = replay([event for event in events if event.sequence is not None])
    told = "".join(event.to_json().decode() for event in events)
    told += f"{events} {views} {workflow.to_svg(views[-1])}"
    assert "ada" in told
    assert not [secret for secret in SECRETS if secret in told]


@executor(id="any")
async def takes_text_too(message: Login | str) -> object:
    return message


@pytest.mark.parametrize(
    ("workflow", "refusal"),
    [
        (flow(), UnstorableTypesError),
        (WorkflowBuilder("w").set_start(takes_text_too).build(), UnencodableError),
    ],
    ids=["that type alone", "other types, too"],
)
async def test_secret_takes_no_part_in_what_a_stored_run_keeps(
    workflow: Workflow, refusal: type[Exception]
) -> None:
    store = MemoryCheckpointStore()
    with pytest.raises(refusal, match="secrets are never stored; send the name of the secret") as caught:
        await workflow.run(LOGIN, run_id="r", checkpoints=store)
    assert not [secret for secret in SECRETS if secret in str(caught.value)]
    assert await store.list_metadata(run_id=RunId("r")) == []


@pytest.mark.parametrize("secret", [SecretStr("hunter2"), SecretBytes(b"b1tes"), Secret[int](4711)])
async def test_secret_is_described_by_its_type_alone(secret: object) -> None:
    @executor(id="node")
    async def node(text: str) -> object:
        return secret

    (output,) = [
        event
        for event in (await WorkflowBuilder("w").set_start(node).build().run("x")).events
        if event.kind == "output"
    ]
    assert json.loads(output.to_json())["data"]["value"]["$"] == "opaque"

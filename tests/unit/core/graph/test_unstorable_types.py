"""A run that is to be stored, and could not be for certain, is refused before it begins."""

from __future__ import annotations

import socket
from dataclasses import dataclass

import pytest
from pydantic import BaseModel, SecretStr

from agentic.core import Executor, MemoryCheckpointStore, Workflow, WorkflowBuilder, executor, handler
from agentic.core.graph import UnencodableError, UnstorableTypesError


class Account(BaseModel):
    name: str
    password: SecretStr


@dataclass(frozen=True)
class Page:
    text: str


@executor(id="open")
async def opens(name: str) -> Account:
    return Account(name=name, password=SecretStr("hunter2"))


@executor(id="use")
async def use(account: Account) -> str:
    return account.name


@executor(id="connect")
async def connect(name: str) -> socket.socket:
    raise ConnectionError(name)


class Either(Executor):
    """Can do all of its work with what can be stored."""

    @handler
    async def take_page(self, page: Page) -> Page | None:
        return page

    @handler
    async def take_socket(self, connection: socket.socket) -> socket.socket:
        return connection


@executor(id="quiet")
async def quiet(page: Page | socket.socket) -> socket.socket | None:
    return None


def logging_in() -> Workflow:
    return WorkflowBuilder("log in", version="1").set_start(opens).add_edge(opens, use).build()


AT_PASSWORD = (
    "a value of type pydantic.types.SecretStr at .password, which cannot be stored: "
    "secrets are never stored; send the name of the secret, and read the secret where it is used"
)
FAULTS = (f"'open' returns {AT_PASSWORD}", f"'use' takes {AT_PASSWORD}")


async def test_each_executor_whose_types_cannot_be_stored_is_named_before_the_run_begins() -> None:
    store, flow = MemoryCheckpointStore(), logging_in()
    with pytest.raises(UnstorableTypesError, match="change these types, or run it without check") as refused:
        await flow.run("anna", checkpoints=store)
    assert refused.value.faults == FAULTS
    with pytest.raises(UnstorableTypesError):
        flow.run_stream("anna", checkpoints=store)
    assert not await store.list_metadata()


async def test_a_run_that_is_not_stored_may_send_what_it_likes() -> None:
    assert (await logging_in().run("anna")).outputs == ("anna",)


async def test_executors_in_sub_workflows_are_named_with_their_path() -> None:
    inner = WorkflowBuilder("inner").set_start(connect).build()
    outer = WorkflowBuilder("outer").set_start(inner.as_executor("box")).build()
    with pytest.raises(UnstorableTypesError, match=r"'box/connect' returns a value of type socket\.socket"):
        await outer.run("x", checkpoints=MemoryCheckpointStore())


async def test_what_works_with_some_of_its_types_is_not_refused() -> None:
    either = Either("either")
    flow = WorkflowBuilder("w").set_start(either).add_edge(either, quiet).build()
    result = await flow.run(Page("x"), checkpoints=MemoryCheckpointStore())
    assert result.is_success
    with socket.socket() as connection, pytest.raises(UnencodableError):
        await flow.run(connection, checkpoints=MemoryCheckpointStore())

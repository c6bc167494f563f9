"""Migrations that make nothing of a checkpoint that a run could go on with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from agentic.core import MemoryCheckpointStore, Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.graph import CheckpointDocument, CheckpointMigrationError

Migration = Callable[[CheckpointDocument], object]


@executor(id="ask")
async def ask(text: str, ctx: WorkflowContext) -> str:
    return await ctx.request_info(f"{text}?", str)


def flow(version: str, migration: Migration | None = None) -> Workflow:
    builder = WorkflowBuilder("asking", version=version).set_start(ask)
    if migration is not None:
        builder.add_migration("1", migration)  # type: ignore[arg-type]  # as a user may
    return builder.build()


async def waiting() -> tuple[MemoryCheckpointStore, str]:
    store = MemoryCheckpointStore()
    result = await flow("1").run("name", run_id="r", checkpoints=store)
    return store, result.pending_requests[0].id


def without_parked(document: CheckpointDocument) -> CheckpointDocument:
    return CheckpointDocument(
        document.head, {k: v for k, v in document.parts.items() if not k.startswith("parked/")}
    )


def in_place(document: CheckpointDocument) -> None:
    document.head["superstep"] = 7  # type: ignore[index,call-overload]  # as a user may


@pytest.mark.parametrize(
    ("migration", "fault"),
    [
        (in_place, "from version '1' returned nothing; return a CheckpointDocument"),
        (lambda document: dict(document.parts), "returned a dict; return a CheckpointDocument"),
        (without_parked, r"dropped request 'ask\.0\.0\.1', which the run waits for; keep the parts parked/"),
        (
            lambda document: CheckpointDocument(document.head, {**document.parts, "x": cast(Any, {1, 2})}),
            "a part that is not JSON",
        ),
        (
            lambda document: CheckpointDocument({}, document.parts),
            "returned an invalid checkpoint: .*superstep",
        ),
    ],
)
async def test_are_refused_and_leave_the_run_as_it_was(migration: Migration, fault: str) -> None:
    store, request = await waiting()
    with pytest.raises(CheckpointMigrationError, match=fault):
        await flow("2", migration).resume("r", checkpoints=store, responses={request: "Ada"})
    assert (await flow("1").resume("r", checkpoints=store, responses={request: "Ada"})).outputs == ("Ada",)


async def test_that_keep_what_is_parked_under_another_name_are_let_through() -> None:
    store, request = await waiting()
    done = await flow("2", lambda document: document).resume(
        "r", checkpoints=store, responses={request: "Ada"}
    )
    assert done.outputs == ("Ada",)


async def test_that_fail_say_so() -> None:
    store, request = await waiting()

    def fail(document: CheckpointDocument) -> CheckpointDocument:
        raise KeyError("gone")

    with pytest.raises(KeyError) as caught:
        await flow("2", fail).resume("r", checkpoints=store, responses={request: "Ada"})
    assert caught.value.__notes__ == ["in the migration of checkpoint 'r@2' from version '1'"]

"""Executors that define the cancel hook by its old name, ``abandon``, still cancel their external work."""

from __future__ import annotations

import pytest

from agentic.core import Executor, WorkflowBuilder, WorkflowContext, handler
from agentic.core.errors import AgenticError


class Failing(Executor):
    """Fails after it started work elsewhere."""

    def __init__(self) -> None:
        super().__init__("job")
        self.cancelled: list[object] = []

    @handler
    async def run(self, number: int) -> int:
        raise AgenticError("the work failed")


class New(Failing):
    """Names the hook as the engine does."""

    async def on_cancel(self, message: object, ctx: WorkflowContext) -> None:
        self.cancelled.append(message)


def make_old() -> type[Failing]:
    class Old(Failing):
        async def abandon(self, message: object, ctx: WorkflowContext) -> None:
            await super().abandon(message, ctx)
            self.cancelled.append(message)

    return Old


async def fail(node: Failing) -> list[object]:
    with pytest.raises(AgenticError, match="the work failed"):
        await WorkflowBuilder("w", "1").set_start(node).build().run(7)
    return node.cancelled


async def test_the_old_hook_is_called_with_a_warning_at_the_class() -> None:
    with pytest.warns(
        DeprecationWarning, match=r"Old\.abandon is now on_cancel; the old name works"
    ) as caught:
        old = make_old()
    assert [warning.filename for warning in caught] == [__file__]
    assert old().has_cancel_hook
    assert await fail(old()) == [7]


async def test_an_old_class_calls_the_new_hook_of_its_base() -> None:
    with pytest.warns(DeprecationWarning, match="on_cancel"):

        class Old(New):
            async def abandon(self, message: object, ctx: WorkflowContext) -> None:
                await super().abandon(message, ctx)
                self.cancelled.append("old")

    assert await fail(Old()) == [7, "old"]


async def test_a_class_with_both_names_uses_the_new_one_without_a_warning() -> None:
    class Both(New):
        async def on_cancel(self, message: object, ctx: WorkflowContext) -> None:
            self.cancelled.append("new")

        async def abandon(self, message: object, ctx: WorkflowContext) -> None:
            self.cancelled.append("old")

    assert await fail(Both()) == ["new"]


async def test_a_class_without_the_hook_has_none() -> None:
    assert not Failing().has_cancel_hook
    assert await fail(Failing()) == []

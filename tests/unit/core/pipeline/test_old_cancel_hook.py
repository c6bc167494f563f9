"""Actors that define the cancel hook by its old name, ``abandon``, still end their external work."""

from __future__ import annotations

from typing import ClassVar

import pytest
from pydantic import BaseModel
from tests.unit.core.pipeline.conftest import Compile

from agentic.core.actors import Actor, ActorContext, ActorError


class Nothing(BaseModel):
    """No input, no output."""


def make_actor(ended: list[str]) -> type[Actor]:
    class OldActor(Actor[Nothing, Nothing]):
        name = "outside"
        version = "1"
        Input = Nothing
        Output = Nothing
        failure_classes: ClassVar[frozenset[str]] = frozenset({"failed"})

        async def run(self, ctx: ActorContext, given: Nothing, /) -> Nothing:
            raise ActorError("the service failed", failure_class="failed")

        async def abandon(self, ctx: ActorContext, given: Nothing, /) -> None:
            ended.append(self.name)

    return OldActor


async def test_the_old_hook_of_an_actor_is_called_with_a_warning_at_the_class(
    actors: dict[str, type[Actor]], compiled: Compile
) -> None:
    ended: list[str] = []
    with pytest.warns(DeprecationWarning, match=r"OldActor\.abandon is now on_cancel") as caught:
        actors["outside"] = make_actor(ended)
    assert [warning.filename for warning in caught] == [__file__]
    workflow = compiled("name: p\nsteps:\n- actor: outside\n")
    with pytest.raises(Exception, match="the service failed"):
        await workflow.run({})
    assert ended == ["outside"]

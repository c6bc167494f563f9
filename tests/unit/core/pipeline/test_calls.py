from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel
from tests.unit.core.pipeline.conftest import NoNetwork

from agentic.core.actors import Actor, ActorContext, Again
from agentic.core.http import Fetcher, HttpPolicy
from agentic.core.pipeline.steps.calls import call_until_done


class Nothing(BaseModel):
    pass


class PatientActor(Actor[Nothing, Nothing]):
    """Waits for somebody who takes his time."""

    name = "patient"
    version = "1"
    Input = Nothing
    Output = Nothing
    left: ClassVar[int] = 3_000

    async def run(self, ctx: ActorContext, given: Nothing, /) -> Nothing | Again:
        type(self).left -= 1
        return Again(after_s=0.0) if self.left else given


async def test_an_actor_may_ask_to_be_called_again_thousands_of_times() -> None:
    context = ActorContext(http=Fetcher(HttpPolicy(), NoNetwork()))
    assert await call_until_done(PatientActor, context, {}) == Nothing()

"""One step's call of an actor: its input put together, its fallback, its time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import BaseModel

from agentic.core.actors import Actor, ActorContext, ActorError
from agentic.core.pipeline.attempts import GivenUp, Success, try_until_settled
from agentic.core.pipeline.naming import can_replace, required_inputs
from agentic.core.pipeline.policies import ErrorRule, Levels
from agentic.core.pipeline.references import resolve
from agentic.core.pipeline.spec import Config
from agentic.core.pipeline.state import PipelineState
from agentic.core.types import JSONValue

Actors = Mapping[str, type[Actor]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorCall:
    """How a step calls its actor.

    Attributes:
        step: Id of the step, with those of the loops around it.
        actor: Name of the actor as the spec has it.
        config: Its input, references not yet resolved.
        actors: Every installed actor by name and alias.
        levels: Rules for failures, nearest first.
        timeout_s: For each attempt; None for no limit.
    """

    step: str
    actor: str
    config: Config
    actors: Actors
    levels: Levels
    timeout_s: float | None = None

    def prepare(self, state: PipelineState) -> Config:
        """Return the input: the config with references resolved, and what it leaves out taken from results.

        Raises:
            MissingResultError: Something it needs was never made, as the step that gives it was skipped.
            ReferenceFailedError: A reference leads nowhere.
        """
        config = cast(Config, resolve(self.config, state.lookup))
        for names in required_inputs(self.actors[self.actor].Input, self.config):
            found = next((name for name in names if state.has(name)), names[0])
            config[names[0]] = state.value(found)
        return config

    async def run(self, ctx: ActorContext, given: Config) -> Success[BaseModel] | GivenUp:
        """Call the actor, and do about failures what the rules say."""
        return await try_until_settled(
            lambda name: self._attempt(name, ctx, given), self.actor, self.levels, subject=self.step
        )

    async def _attempt(self, name: str, ctx: ActorContext, given: Config) -> BaseModel:
        actor = self.actors[name]
        limit = asyncio.timeout(self.timeout_s)
        try:
            async with limit:
                return await call_actor(actor, ctx, given, is_fallback=name != self.actor)
        except TimeoutError as exc:
            if not limit.expired():
                raise
            message = f"actor {name!r} did not end within {self.timeout_s:g} s; see timeout_s of the step"
            raise ActorError(message, failure_class="timeout") from exc


async def call_actor(
    actor: type[Actor], ctx: ActorContext, given: Mapping[str, object], *, is_fallback: bool = False
) -> BaseModel:
    """Check ``given`` against the actor's input and run it.

    Args:
        actor: Its class.
        ctx: What it may use.
        given: Its input; a fallback is given those parts it knows.
        is_fallback: Whether the input was made for another actor.

    Raises:
        Exception: The input does not fit, or whatever the actor raised.
    """
    if is_fallback:
        fields = actor.Input.model_fields
        known = {*fields, *(field.alias for field in fields.values())}
        given = {name: value for name, value in given.items() if name in known}
    output: BaseModel = await actor().run(ctx, actor.Input.model_validate(given))
    return output


def results_of(output: BaseModel) -> dict[str, JSONValue]:
    """Return the fields of an actor's output as JSON values."""
    fields: dict[str, JSONValue] = output.model_dump(mode="json")
    return fields


def usable_levels(levels: Levels, actors: Actors, wanted: Collection[str]) -> Levels:
    """Return the rules without those fallbacks that cannot give what is wanted.

    A rule for the whole pipeline stands for every step; its fallback only for those it can stand in for.
    """

    def usable(rule: ErrorRule) -> ErrorRule:
        fallback = rule.retry_with_actor
        if fallback is None or can_replace(actors[fallback], wanted):
            return rule
        return rule.model_copy(update={"retry_with_actor": None})

    return tuple({key: usable(rule) for key, rule in rules.items()} for rules in levels)

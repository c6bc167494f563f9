"""One step's call of an actor: its input, its fallback, its time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from pydantic import BaseModel, ValidationError

from agentic.core.actors import Actor, ActorContext, ActorError, Again, ListingActor
from agentic.core.http.politeness.slots import idle, note_begun
from agentic.core.old_methods import name_of_override
from agentic.core.pipeline.expressions.expressions import SECRETS, Path
from agentic.core.pipeline.expressions.references import resolve
from agentic.core.pipeline.expressions.secret_masking import NOTHING_HIDDEN, Hidden, read_secrets
from agentic.core.pipeline.policies.attempts import (
    GivenUp,
    OnAttempt,
    RetryContext,
    Success,
    retrying,
    try_until_settled,
)
from agentic.core.pipeline.policies.policies import ErrorRule, Levels, default_rules
from agentic.core.pipeline.spec.own_secrets import NO_OWN_SECRETS, OwnSecrets
from agentic.core.pipeline.spec.spec import Config
from agentic.core.pipeline.spec.step_names import can_replace, required_inputs, wanted_inputs
from agentic.core.pipeline.steps.state import PipelineState, dump
from agentic.core.types import JSONValue

Actors = Mapping[str, type[Actor]]


@dataclass(frozen=True, slots=True)
class Given:
    """The input of a call, and the secrets in it."""

    config: Config
    hidden: Hidden = NOTHING_HIDDEN


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorCall:
    """How a step calls its actor.

    Attributes:
        step: Id of the step, after the ids of the loops around it.
        actor: Name of the actor as the spec has it.
        config: Its input, references not yet resolved.
        actors: Every installed actor by name and alias.
        levels: Rules for failures, nearest first.
        timeout_s: For each attempt; None for no limit.
        reruns: Calls of the steps that rules may run again, by id.
        own: The passwords and tokens that the pipeline itself holds.
    """

    step: str
    actor: str
    config: Config
    actors: Actors
    levels: Levels
    timeout_s: float | None = None
    reruns: Mapping[str, ActorCall] = field(default_factory=dict)
    own: OwnSecrets = NO_OWN_SECRETS

    async def prepare(self, state: PipelineState, ctx: ActorContext) -> Given:
        """Return the input: the config with references resolved, and missing fields filled from results.

        Raises:
            MissingResultError: A value is missing because its step was skipped.
            ReferenceFailedError: A reference leads nowhere.
            UnknownSecretError: A secret of that name does not exist.
        """
        hidden = self.own.joined(await read_secrets(self.config, ctx.secrets))

        def lookup(path: Path) -> JSONValue:
            return hidden.values[path[1]] if path[0] == SECRETS else state.lookup(path)

        config = cast(Config, resolve(self.config, lookup))
        model = self.actors[self.actor].Input
        for names in required_inputs(model, self.config):
            found = next((name for name in names if state.has(name)), names[0])
            config[names[0]] = state.value(found)
        for names in wanted_inputs(model, self.config):
            if (known := next(filter(state.has, names), None)) is not None:
                config[names[0]] = state.value(known)
        return Given(self.own.credentials.applied_config(config) if self.own.credentials else config, hidden)

    async def run(
        self, ctx: ActorContext, given: Given, state: PipelineState, tell: OnAttempt | None = None
    ) -> Success[BaseModel | Again] | GivenUp:
        """Call the actor, and handle failures as the rules say.

        Args:
            ctx: The context of the actor.
            given: Its input.
            state: The state for steps that run again.
            tell: Receives every failed attempt and what follows it.
        """

        def retry_context() -> RetryContext:
            return RetryContext(
                levels=self.levels,
                subject=self.step,
                seed=dump(given.config),
                hidden=given.hidden,
                tell=tell,
                rerun=lambda step: self.reruns[step].once(ctx, state),
            )

        if issubclass(self.actors[self.actor], ListingActor):  # it reads many documents
            ctx = replace(ctx, retry=retrying(self.levels))
        return await try_until_settled(
            lambda name, config: self._attempt(name, config, ctx, given), self.actor, retry_context
        )

    async def once(self, ctx: ActorContext, state: PipelineState) -> None:
        """Run this step again for its effect: a login, for example, stores its session."""
        ctx = replace(ctx, is_rerun=True)
        given = await self.prepare(state, ctx)
        await call_until_done(self.actors[self.actor], ctx, given.config)

    @property
    def has_cancel_hook(self) -> bool:
        """Whether one of the actors has external work to end."""
        return bool(self._cancellable())

    async def cancel(self, ctx: ActorContext, given: Given) -> None:
        """Call the actors that may have run, so that they end their external work.

        Raises:
            ActorError: Some work may continue.
        """
        for name, own in self._cancellable():
            actor = self.actors[name]
            config = given.config if own is None else {**known_parts(actor, given.config), **own}
            try:
                checked = actor.Input.model_validate(config)
            except ValidationError:
                continue  # it was not called with such an input
            hook = name_of_override(actor, Actor, "on_cancel", "abandon") or "on_cancel"
            await getattr(actor(), hook)(ctx, checked)

    def _cancellable(self) -> list[tuple[str, Config | None]]:
        """Return these actors by name, a fallback with its own config."""
        fallbacks = [rule.retry_with_actor for rules in self.levels for rule in rules.values()]
        calls: list[tuple[str, Config | None]] = [(self.actor, None)]
        calls += [(one.actor, one.config) for one in fallbacks if one is not None]
        return [
            call
            for call in calls
            if name_of_override(self.actors[call[0]], Actor, "on_cancel", "abandon") is not None
        ]

    async def _attempt(
        self, name: str, config: Config | None, ctx: ActorContext, given: Given
    ) -> BaseModel | Again:
        actor = self.actors[name]
        limit = asyncio.timeout(self.timeout_s)
        try:
            async with limit:
                if config is None:
                    return await call_actor(actor, ctx, given.config)
                return await call_until_done(actor, ctx, {**known_parts(actor, given.config), **config})
        except TimeoutError as exc:
            if not limit.expired():
                raise
            message = f"actor {name!r} exceeded {self.timeout_s:g} s; see timeout_s of the step"
            raise ActorError(message, failure_class="timeout") from exc


async def call_actor(
    actor: type[Actor], ctx: ActorContext, given: Mapping[str, object] | BaseModel
) -> BaseModel | Again:
    """Run an actor; its input is checked first, if it is not checked yet.

    Raises:
        Exception: The input does not fit, or the actor raised it.
    """
    output: BaseModel | Again = await actor().run(ctx, _checked(actor, given))
    return output


async def call_until_done(
    actor: type[Actor], ctx: ActorContext, given: Mapping[str, object] | BaseModel
) -> BaseModel:
    """Do as :func:`call_actor`, and call again, in place, as often as the actor asks for it."""
    checked = _checked(actor, given)
    while True:
        output: BaseModel | Again = await actor().run(ctx, checked)
        if not isinstance(output, Again):
            return output
        note_begun()
        async with idle(output.after_s, in_turn=True):
            await asyncio.sleep(output.after_s)


def _checked(actor: type[Actor], given: Mapping[str, object] | BaseModel) -> BaseModel:
    return given if isinstance(given, BaseModel) else actor.Input.model_validate(given)


def known_parts(actor: type[Actor], given: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    """Return those parts of an input made for another actor that ``actor`` knows."""
    fields = actor.Input.model_fields
    known = {*fields, *(field.alias for field in fields.values())}
    return {name: value for name, value in given.items() if name in known}


def results_of(output: BaseModel) -> dict[str, JSONValue]:
    """Return the fields of an actor's output as JSON values."""
    fields: dict[str, JSONValue] = output.model_dump(mode="json")
    return fields


def levels_for(
    calls: Sequence[tuple[type[Actor], Config]], levels: Levels, actors: Actors, wanted: Collection[str]
) -> Levels:
    """Return the rules for calls that are tried together: matching rules of the spec, then the defaults.

    A rule for the whole pipeline applies to every step; its fallback only to steps it can stand in for.

    Args:
        calls: Actors and their configs as the spec has them; the first one can be replaced.
        levels: Rules of the spec, nearest first.
        actors: Name or alias -> actor.
        wanted: The results it must return.
    """

    def usable(rule: ErrorRule) -> ErrorRule:
        fallback = rule.retry_with_actor
        if fallback is None or can_replace(actors[fallback.actor], wanted):
            return rule
        return rule.model_copy(update={"retry_with_actor": None})

    said = ({key: usable(rule) for key, rule in rules.items()} for rules in levels)
    repeatable = [actor.repeatable_after(config) for actor, config in calls]
    limits = [classes for classes in repeatable if classes is not None]
    return (*said, default_rules(frozenset.intersection(*limits) if limits else None))

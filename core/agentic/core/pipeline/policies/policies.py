"""The reaction to a failure: rules as data, the decision a pure function of what happened so far."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    NonNegativeFloat,
    PlainSerializer,
    PositiveFloat,
)
from pydantic_core import CoreSchema

from agentic.core.actors import Failure
from agentic.core.records import record
from agentic.core.types import JSONValue

Config = dict[str, JSONValue]
Ending = Literal["fail", "skip", "dead_letter"]
Action = Literal["retry", "rerun", "fallback", "give_up"]

_STATUS_ALIAS = re.compile(r"(?:http_)?(\d{3})(?:_error)?")
_STATUS_CLASS = re.compile(r"http_(\d{3}|[45]xx)")


class Fallback(BaseModel):
    """An actor that is called instead: with what of the step's input it knows, and its own ``config``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    actor: str = Field(min_length=1)
    config: dict[str, JSONValue] = Field(
        default_factory=dict, description="Overrides the input of the step; plain values."
    )


class _NameInSchema:
    """Says in the JSON Schema that a name may stand for the fallback."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"anyOf": [{"type": "string", "minLength": 1}, handler(core)]}


def _named(value: object) -> object:
    return {"actor": value} if isinstance(value, str) else value


def _as_name(fallback: Fallback) -> object:
    return fallback.model_dump(mode="json") if fallback.config else fallback.actor


NamedFallback = Annotated[Fallback, BeforeValidator(_named), PlainSerializer(_as_name), _NameInSchema()]
"""A fallback; only its name if it has no config."""


class ErrorRule(BaseModel):
    """What to do about failures of one class: retry, then run a step anew, then try another actor."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    retry_count: int = Field(default=0, ge=0, le=100)
    backoff_s: NonNegativeFloat = Field(
        default=1.0, description="Wait before the first retry; doubles each time."
    )
    jitter: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Random share to subtract from that wait; the same for the same input or page.",
    )
    max_wait_s: PositiveFloat = Field(
        default=120, description="Longest wait; no retry if a server asks for a longer one."
    )
    respect_retry_after: bool = Field(
        default=True, description="Wait at least as long as the server asks for."
    )
    rerun: str | None = Field(
        default=None,
        description="Id of an earlier login step to rerun once before one more attempt.",
    )
    retry_with_actor: NamedFallback | None = Field(
        default=None, description="Runs once after the last retry: a name, or actor and config."
    )
    then: Ending | None = Field(
        default=None,
        description="fail ends the pipeline, skip continues without the result, dead_letter also keeps the "
        "item for inspection. Unset: a step fails the pipeline, an item of a loop or a page of a crawl is "
        "recorded as failed.",
    )


def _with_class_names(rules: object) -> object:
    if not isinstance(rules, Mapping):
        return rules
    named: dict[str, object] = {}
    for key, rule in rules.items():
        name = failure_key(str(key))
        if name in named:
            raise ValueError(f"two rules for {name!r}; keep one")
        named[name] = rule
    return named


ErrorHandling = Annotated[dict[str, ErrorRule], BeforeValidator(_with_class_names)]
"""Failure class -> rule. Keys may be ``403_error``, ``http_403``, ``http_5xx`` or ``*``."""

Levels = Sequence[Mapping[str, ErrorRule]]
"""Rules from the innermost to the outermost: of the step, its loops, the pipeline."""


_PASSING = ErrorRule(retry_count=2, backoff_s=0.5, jitter=0.5)

DEFAULT_RULES: Mapping[str, ErrorRule] = {
    "connect": _PASSING,
    "http_5xx": _PASSING,
    "rate_limited": ErrorRule(retry_count=3, jitter=0.5),
    "timeout": _PASSING,
}
"""Rules for temporary failures where no rule of a spec fits: any such rule overrides these."""


def default_rules(safe: Collection[str] | None = None) -> Mapping[str, ErrorRule]:
    """Return the default rules; only those for the failure classes in ``safe``, if that is given."""
    return {key: rule for key, rule in DEFAULT_RULES.items() if safe is None or key in safe}


def chance_of(subject: str, attempt: int) -> float:
    """Return a number from 0 up to 1 that is always the same for the same attempt at the same work."""
    digest = hashlib.blake2b(f"{attempt}:{subject}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def failure_key(key: str) -> str:
    """Return the failure class for a key of ``error_handling``: ``http_403`` for ``403_error``."""
    status = _STATUS_ALIAS.fullmatch(key)
    return f"http_{status.group(1)}" if status else key


def is_status_class(key: str) -> bool:
    """Whether ``key`` is a status such as ``http_404``, or a family such as ``http_5xx``."""
    return _STATUS_CLASS.fullmatch(key) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDecision:
    """What follows a failed attempt.

    Attributes:
        action: Retry, run an earlier step again and retry, try another actor, or stop.
        rule: Names the rule behind it; "" without one.
        wait_s: Seconds before the next attempt.
        actor: Of a fallback.
        step: The step to run again.
        then: How it ends if the work fails for good, and if the fallback fails too.
    """

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.policies.Decision"

    action: Action
    rule: str = ""
    wait_s: float = 0.0
    actor: str | None = None
    step: str | None = None
    then: Ending | None = None


@record
class StepAttempt:
    """One attempt: its actor, and if it failed, why and what followed."""

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.policies.Attempt"

    actor: str
    failure: Failure | None = None
    decision: FailureDecision | None = None


def decide(
    levels: Levels, failure: Failure, earlier: Sequence[StepAttempt], chance: float = 0.0
) -> FailureDecision:
    """Return the reaction to ``failure``.

    The nearest level with a matching rule decides; in it the exact class wins over its HTTP family, and the
    family over ``*``. Retries are counted for each rule. A fallback actor runs once: if it fails, the rule
    that called it ends the work.

    Args:
        levels: Rules, nearest first.
        failure: Of the attempt that just ended.
        earlier: The attempts before that one.
        chance: From 0 up to 1; determines the jitter.
    """
    last = earlier[-1].decision if earlier else None
    if last is not None and last.action == "fallback":
        return FailureDecision(action="give_up", rule=last.rule, then=last.then)
    name, rule = _matching(levels, failure)
    if rule is None:
        return FailureDecision(action="give_up")
    made = [a.decision.action for a in earlier if a.decision and a.decision.rule == name]
    wait_s = _wait_s(rule, failure, made.count("retry"), chance)
    if made.count("retry") < rule.retry_count and wait_s <= rule.max_wait_s:
        return FailureDecision(action="retry", rule=name, wait_s=wait_s)
    if rule.rerun is not None and "rerun" not in made:
        return FailureDecision(action="rerun", rule=name, step=rule.rerun)
    if rule.retry_with_actor is not None:
        return FailureDecision(
            action="fallback", rule=name, actor=rule.retry_with_actor.actor, then=rule.then
        )
    return FailureDecision(action="give_up", rule=name, then=rule.then)


def without_retries(levels: Levels) -> Levels:
    """Return rules that end work at its first failure, because it would fail again in the same way."""
    once = {"retry_count": 0, "rerun": None, "retry_with_actor": None}
    return [{key: rule.model_copy(update=once) for key, rule in rules.items()} for rules in levels]


def fallback_config(levels: Levels, rule: str) -> Config:
    """Return the own config of the fallback of a rule, named as in a :class:`FailureDecision`."""
    level, _, key = rule.partition(":")
    fallback = levels[int(level)][key].retry_with_actor
    return fallback.config if fallback is not None else {}


def _wait_s(rule: ErrorRule, failure: Failure, retries: int, chance: float) -> float:
    asked_s = failure.retry_after_s if rule.respect_retry_after else None
    backoff_s: float = min(rule.backoff_s * 2.0**retries, rule.max_wait_s) * (1 - rule.jitter * chance)
    return max(round(backoff_s, 3), asked_s or 0.0)


def _matching(levels: Levels, failure: Failure) -> tuple[str, ErrorRule | None]:
    for level, rules in enumerate(levels):
        for key in _keys(failure):
            if key in rules:
                return f"{level}:{key}", rules[key]
    return "", None


def _keys(failure: Failure) -> Iterator[str]:
    """Yield the keys that match, closest first; a 429 is rate_limited, http_429, http_4xx and * in turn."""
    yield failure.failure_class
    if failure.status is not None:
        yield f"http_{failure.status}"
        yield f"http_{failure.status // 100}xx"
    yield "*"

"""Evaluators: each gives an answer a score."""

from __future__ import annotations

import inspect
import json
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeFloat,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from agentic.core.actors.own_code import load_own_object, own_name
from agentic.core.actors.ports import SecretStore
from agentic.core.agents.specs.toolsets import secret_named
from agentic.core.evals.errors import EvalError
from agentic.core.evals.judging import JudgeInput, ModelJudge
from agentic.core.evals.results import EvalAnswer, EvalScore
from agentic.core.evals.values import (
    MissingPartError,
    is_same,
    number_in,
    part_of,
    plain_text,
    text_of_value,
)
from agentic.core.linear import LinearPattern, compile_linear
from agentic.core.llm.requests import ModelSettings
from agentic.core.threads import in_thread
from agentic.core.types import JSONValue

_CONFIG = ConfigDict(extra="forbid", frozen=True)
_SHOWN_CHARS = 60

ScoreFunction = Callable[[EvalAnswer], Any]
"""Takes an answer; returns a bool, a number or an :class:`EvalScore`, perhaps in a coroutine."""


class Evaluator(BaseModel):
    """Gives answers a score. Subclasses define :meth:`judge`."""

    model_config = _CONFIG

    name: str = Field(
        default="", pattern=r"^[\w.-]{0,60}$", description="Names the score; by default the kind."
    )
    field: str = Field(
        default="",
        description="Part of the answer, such as ``items.0.price``; and of ``expected``, if it has it.",
    )
    pass_at: FiniteFloat = Field(default=0.5, description="The lowest value that passes.")

    @property
    def label(self) -> str:
        """Its name, or its kind."""
        return self.name or str(getattr(self, "kind", "score"))

    @property
    def needs_expected(self) -> bool:
        """Whether it compares the answer with the one that is expected."""
        return False

    @abstractmethod
    async def judge(self, given: EvalAnswer, answer: JSONValue, expected: JSONValue) -> object:
        """Return a bool, a number or an :class:`EvalScore`.

        Args:
            given: The whole answer, with its case.
            answer: The part of the answer that ``field`` names.
            expected: The same part of the expected answer; all of it, if it has no such part.
        """

    async def score(self, given: EvalAnswer) -> EvalScore:
        """Return the score of an answer.

        Raises:
            EvalError: The evaluator returned something else, or the case has no expected answer.
        """
        try:
            answer = part_of(given.answer, self.field)
        except MissingPartError as exc:
            return EvalScore(value=0.0, passed=False, reason=str(exc))
        try:
            expected = part_of(given.expected, self.field)
        except MissingPartError:
            expected = given.expected
        if expected is None and self.needs_expected:  # else an answer without a value would pass
            raise EvalError(f"case {given.case_id!r} has no expected answer to compare with; add 'expected'")
        return self._as_score(await self.judge(given, answer, expected))

    def _as_score(self, found: object) -> EvalScore:
        if isinstance(found, EvalScore):
            return found
        if isinstance(found, (bool, int, float)) and math.isfinite(found):
            return EvalScore(value=float(found), passed=float(found) >= self.pass_at)
        raise EvalError(
            f"evaluator {self.label!r} returned {type(found).__name__}; return a bool, a finite number or "
            "an EvalScore"
        )

    def scored(self, value: float, reason: str = "") -> EvalScore:
        """Return a score with a reason."""
        return EvalScore(value=value, passed=value >= self.pass_at, reason=reason)


class ExactEvaluator(Evaluator):
    """The answer equals the expected one; JSON data is compared as data."""

    kind: Literal["exact"] = "exact"
    ignore_case: bool = False

    @property
    def needs_expected(self) -> bool:
        """Always."""
        return True

    async def judge(self, given: EvalAnswer, answer: JSONValue, expected: JSONValue) -> EvalScore:
        """Compare; see :class:`Evaluator`."""
        del given
        if is_same(answer, expected, ignore_case=self.ignore_case):
            return self.scored(1.0)
        return self.scored(0.0, f"{_shown(answer)} is not {_shown(expected)}")


class ContainsEvaluator(Evaluator):
    """The answer contains texts; the value is their share."""

    kind: Literal["contains"] = "contains"
    value: str | tuple[str, ...] | None = Field(
        default=None, description="The texts; by default the texts of ``expected``."
    )
    ignore_case: bool = False
    pass_at: FiniteFloat = Field(default=1.0, description="The lowest share that passes.")

    @property
    def needs_expected(self) -> bool:
        """Without texts of its own."""
        return self.value is None

    async def judge(self, given: EvalAnswer, answer: JSONValue, expected: JSONValue) -> EvalScore:
        """Search; see :class:`Evaluator`."""
        del given
        wanted = expected if self.value is None else self.value
        texts = (
            [*map(text_of_value, wanted)] if isinstance(wanted, (list, tuple)) else [text_of_value(wanted)]
        )
        there = plain_text(text_of_value(answer), ignore_case=self.ignore_case)
        missing = [one for one in texts if plain_text(one, ignore_case=self.ignore_case) not in there]
        share = 1.0 - len(missing) / len(texts) if texts else 1.0
        return self.scored(share, f"it lacks {_shown(missing[0])}" if missing else "")


class MatchesEvaluator(Evaluator):
    """A regular expression matches somewhere in the answer."""

    kind: Literal["matches"] = "matches"
    pattern: str

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        compile_linear(pattern)
        return pattern

    @cached_property
    def compiled(self) -> LinearPattern:
        """The pattern, ready to search."""
        return LinearPattern(self.pattern)

    async def judge(self, given: EvalAnswer, answer: JSONValue, expected: JSONValue) -> EvalScore:
        """Search; see :class:`Evaluator`."""
        del given, expected
        if self.compiled.search(text_of_value(answer)) is not None:
            return self.scored(1.0)
        return self.scored(0.0, f"{_shown(answer)} does not match")


class NumberEvaluator(Evaluator):
    """The answer is the expected number, or close to it."""

    kind: Literal["number"] = "number"
    tolerance: NonNegativeFloat = Field(default=0.0, description="The largest difference that passes.")
    relative: NonNegativeFloat = Field(default=0.0, description="The same as a share of the expected number.")

    @property
    def needs_expected(self) -> bool:
        """Always."""
        return True

    async def judge(self, given: EvalAnswer, answer: JSONValue, expected: JSONValue) -> EvalScore:
        """Compare; see :class:`Evaluator`.

        Raises:
            EvalError: The expected answer is not a number.
        """
        wanted = number_in(expected)
        if wanted is None:
            raise EvalError(f"case {given.case_id!r} expects {_shown(expected)}, which is not a number")
        found = number_in(answer)
        if found is None:
            return self.scored(0.0, f"{_shown(answer)} is not a number")
        if math.isclose(found, wanted, rel_tol=0.0, abs_tol=max(self.tolerance, self.relative * abs(wanted))):
            return self.scored(1.0)
        return self.scored(0.0, f"{found:g} is not {wanted:g}")


class SchemaEvaluator(Evaluator):
    """The answer fits a JSON Schema. It needs the extra ``schema``."""

    kind: Literal["schema"] = "schema"
    json_schema: dict[str, JSONValue] = Field(alias="schema")

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @model_validator(mode="after")
    def _is_schema(self) -> Self:
        from agentic.core.reading.schemas.validating import validator_of

        validator_of(json.dumps(self.json_schema))
        return self

    async def judge(self, given: EvalAnswer, answer: JSONValue, expected: JSONValue) -> EvalScore:
        """Check; see :class:`Evaluator`."""
        from agentic.core.reading.schemas.validating import schema_faults

        del given, expected
        faults = schema_faults(answer, json.dumps(self.json_schema), limit=3)
        return self.scored(0.0 if faults else 1.0, "; ".join(faults))


class FunctionEvaluator(Evaluator):
    """A function of yours gives the score; it takes an :class:`EvalAnswer`."""

    kind: Literal["function"] = "function"
    function: str | SkipJsonSchema[ScoreFunction] = Field(
        description="``./checks.py:polite``; in Python, the function."
    )

    @field_validator("function")
    @classmethod
    def _findable(cls, function: str | ScoreFunction, info: ValidationInfo) -> str | ScoreFunction:
        context = info.context or {}
        folder = context.get("folder")
        if folder is None or not isinstance(function, str):
            return function
        return own_name(function, folder, is_trusted=bool(context.get("runs_code")))

    @property
    def label(self) -> str:
        """Its name, or the function's."""
        if self.name:
            return self.name
        named = self.function if isinstance(self.function, str) else self.function.__name__
        return named.rpartition(":")[2]

    def load(self) -> ScoreFunction:
        """Return the function.

        Raises:
            OwnCodeError: It does not exist, or may not be used here.
        """
        if not isinstance(self.function, str):
            return self.function
        found = load_own_object(self.function)
        if not callable(found):
            raise EvalError(f"{self.function} is not a function")
        return found

    async def judge(self, given: EvalAnswer, answer: JSONValue, expected: JSONValue) -> object:
        """Call the function; see :class:`Evaluator`."""
        del answer, expected
        function = self.load()
        if inspect.iscoroutinefunction(function):
            return await function(given)
        found = await in_thread(function, given)
        return await found if inspect.isawaitable(found) else found


class JudgeEvaluator(Evaluator):
    """A model judges the answer by a rubric, with a score from 0 to 1 and its reason."""

    kind: Literal["judge"] = "judge"
    model: str = Field(pattern=r"^[^:\s]+:.+$", description="``provider:name``.")
    options: dict[str, JSONValue] = Field(default_factory=dict, description="Of the provider.")
    rubric: str = Field(min_length=1, description="Describes a good answer.")
    sees: tuple[JudgeInput, ...] = Field(
        default=("input", "expected"), description="Parts that the model reads besides the answer."
    )
    settings: ModelSettings = Field(default=ModelSettings(), description="Such as ``temperature``.")

    @field_validator("model")
    @classmethod
    def _findable(cls, model: str, info: ValidationInfo) -> str:
        from agentic.core.agents.specs.spec import ModelChoice

        return ModelChoice.model_validate({"model": model}, context=info.context).model

    async def judge(self, given: EvalAnswer, answer: JSONValue, expected: JSONValue) -> EvalScore:
        """Ask the model; see :class:`Evaluator`."""
        options = await resolved_options(self.options, given.secrets)
        model = given.models.open(self.model, options)
        judge = ModelJudge(model, self.rubric, sees=self.sees, settings=self.settings)
        verdict = await judge.verdict(answer, input=given.input, expected=expected)
        return self.scored(verdict.score, verdict.reason)


async def resolved_options(
    options: Mapping[str, JSONValue], secrets: SecretStore | None
) -> dict[str, JSONValue]:
    """Return options with the values of their secrets, ``${secrets.NAME}``.

    Raises:
        EvalError: A secret is needed, but no store of secrets was given.
        UnknownSecretError: A secret does not exist.
    """
    found: dict[str, JSONValue] = dict(options)
    for key, value in options.items():
        name = secret_named(value)
        if name is None:
            continue
        if secrets is None:
            raise EvalError(
                f"the option {key!r} needs the secret {name!r}, but no store of secrets was given"
            )
        found[key] = (await secrets.secret(name)).get_secret_value()
    return found


KINDS: dict[str, type[Evaluator]] = {
    "exact": ExactEvaluator,
    "contains": ContainsEvaluator,
    "matches": MatchesEvaluator,
    "number": NumberEvaluator,
    "schema": SchemaEvaluator,
    "function": FunctionEvaluator,
    "judge": JudgeEvaluator,
}
"""Kind -> evaluator."""


def _by_kind(given: object) -> object:
    return {"kind": given} if isinstance(given, str) else given


EvaluatorSpec = Annotated[
    Annotated[
        ExactEvaluator
        | ContainsEvaluator
        | MatchesEvaluator
        | NumberEvaluator
        | SchemaEvaluator
        | FunctionEvaluator
        | JudgeEvaluator,
        Field(discriminator="kind"),
    ],
    BeforeValidator(_by_kind),
]
"""An evaluator as data; one without options may be written as its kind."""


def _shown(value: JSONValue) -> str:
    text = " ".join(text_of_value(value).split())
    return repr(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}...")

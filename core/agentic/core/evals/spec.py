"""An evaluation as data: a task, cases, evaluators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationInfo,
    field_validator,
    model_validator,
)

from agentic.core.actors.own_code import OwnCodeError, load_own_object, own_file, own_name
from agentic.core.agents.specs.loading import load_agent_spec
from agentic.core.agents.specs.models import option_faults
from agentic.core.agents.specs.spec import DIALECT, AgentSpec, ModelChoice
from agentic.core.evals.case_models import Replies, model_label
from agentic.core.evals.cases import CaseColumns, EvalCase, checked_cases
from agentic.core.evals.errors import CasesError, EvalError
from agentic.core.evals.evaluators import EvaluatorSpec, FunctionEvaluator
from agentic.core.evals.results import PASSED
from agentic.core.hooks import get_registry
from agentic.core.pipeline import PipelineSpec, load_spec, read_spec
from agentic.core.pipeline.expressions.suggestions import unknown_word
from agentic.core.pipeline.spec.walking import find_crawls
from agentic.core.types import JSONValue

_CONFIG = ConfigDict(extra="forbid", frozen=True)
TASKS = ("agent", "actor", "pipeline", "function")
RECORDINGS = ".recordings"
"""Ending of the folder of recordings beside a file, in place of its own ending."""


def _agent(given: object, info: ValidationInfo) -> object:
    """Return the agent of a file that the file of the evaluation names."""
    context = info.context or {}
    folder: Path | None = context.get("folder")
    if not isinstance(given, str) or folder is None:
        return given
    return load_agent_spec(folder / given, runs_code=bool(context.get("runs_code")))


def _pipeline(given: object, info: ValidationInfo) -> object:
    """Return the pipeline of a file that the file of the evaluation names, as data."""
    context = info.context or {}
    folder: Path | None = context.get("folder")
    if not isinstance(given, str) or folder is None:
        return given
    spec = load_spec(folder / given, get_registry().actors, runs_code=bool(context.get("runs_code")))
    return spec.model_dump(mode="json", exclude_unset=True, by_alias=True)


class EvalTask(BaseModel):
    """The work that is evaluated: an agent, an actor, a pipeline or a function."""

    model_config = _CONFIG

    agent: Annotated[AgentSpec | None, BeforeValidator(_agent)] = Field(
        default=None, description="An agent, or its file."
    )
    actor: str | None = Field(default=None, description="``classify``, or any other actor.")
    config: dict[str, JSONValue] = Field(
        default_factory=dict, description="Of the actor; ``${secrets.NAME}`` is a secret."
    )
    pipeline: Annotated[dict[str, JSONValue] | None, BeforeValidator(_pipeline)] = Field(
        default=None, description="The file of a pipeline; the input is its inputs, the answer its items."
    )
    function: str | None = Field(default=None, description="``./tasks.py:answer``; it takes the input.")
    input: str | None = Field(
        default=None,
        description="The field of an actor, or the input of a pipeline, that gets the input. By default the "
        "values of a mapping have their own names, and anything else is ``text``.",
    )
    answer: str = Field(
        default="", description="The part of the result that is the answer, such as ``label`` or ``0.price``."
    )

    @field_validator("config")
    @classmethod
    def _model_file(cls, config: dict[str, JSONValue], info: ValidationInfo) -> dict[str, JSONValue]:
        named = config.get("model")
        if not isinstance(named, str) or (info.context or {}).get("folder") is None:
            return config
        # Models that are files are relative to the file, as those of agents.
        return {**config, "model": ModelChoice.model_validate({"model": named}, context=info.context).model}

    @field_validator("function")
    @classmethod
    def _findable(cls, function: str | None, info: ValidationInfo) -> str | None:
        context = info.context or {}
        folder = context.get("folder")
        if function is None or folder is None:
            return function
        return own_name(function, folder, is_trusted=bool(context.get("runs_code")))

    @model_validator(mode="after")
    def _one_task(self) -> Self:
        given = [name for name in TASKS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"give one of {', '.join(TASKS)}" + (f", not {' and '.join(given)}" if given else "")
            )
        if self.config and self.actor is None:
            raise ValueError("config is for an actor; leave it out")
        return self

    @property
    def label(self) -> str:
        """The task in a few words."""
        if self.agent is not None:
            return f"agent {self.agent.name or 'agent'}"
        if self.pipeline is not None:
            return f"pipeline {self.pipeline.get('name') or 'pipeline'}"
        if self.actor is not None:
            return f"actor {self.actor}"
        return f"function {(self.function or '').rpartition('/')[2]}"

    @property
    def model(self) -> str:
        """Its model, ``provider:name``, if it has one of its own."""
        if self.agent is not None:
            return self.agent.model
        named = self.config.get("model")
        return named if isinstance(named, str) else ""

    @property
    def model_label(self) -> str:
        """Its model for people: of a file without the folders."""
        return model_label(self.model)

    @cached_property
    def pipeline_spec(self) -> PipelineSpec | None:
        """The pipeline, checked against the installed actors.

        Raises:
            SpecError: It cannot be used.
        """
        return None if self.pipeline is None else read_spec(self.pipeline, get_registry().actors)

    def with_model(self, model: str) -> EvalTask:
        """Return the task with another model, and without models after it.

        Options stay, if the provider does.

        Raises:
            EvalError: It has no model.
        """
        if self.agent is not None:
            stays = model.partition(":")[0] == self.agent.model.partition(":")[0]
            options = self.agent.options if stays else {}
            changed = {"model": model, "options": options, "fallback": ()}
            return self.model_copy(update={"agent": self.agent.model_copy(update=changed)})
        if self.actor is None or not self.model:
            raise EvalError(f"the {self.label} has no model to replace; leave out --model")
        stays = model.partition(":")[0] == self.model.partition(":")[0]
        dropped = {"fallback"} if stays else {"fallback", "options", "price"}
        config = {name: value for name, value in self.config.items() if name not in dropped}
        return self.model_copy(update={"config": {**config, "model": model}})

    def faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the faults that only the installation shows: place and message."""
        if self.actor is not None:
            yield from self._actor_faults(self.actor)
        if self.function is not None:
            try:
                if not callable(load_own_object(self.function)):
                    yield ("function",), f"{self.function} is not a function"
            except OwnCodeError as exc:
                yield ("function",), str(exc)
        if self.pipeline_spec is not None and any(find_crawls(self.pipeline_spec.steps, ())):
            yield ("pipeline",), "it crawls, and a case has no tables for its pages; use fetch in a loop"

    def _actor_faults(self, name: str) -> Iterator[tuple[tuple[str, ...], str]]:
        actors = get_registry().actors
        if name not in actors:
            yield ("actor",), unknown_word("actor", name, actors)
            return
        fields = actors[name].Input.model_fields
        known = {*fields, *(field.alias or "" for field in fields.values())}
        for key in (*self.config, *([self.input] if self.input else ())):
            if key not in known:
                place = ("config", key) if key in self.config else ("input",)
                yield place, unknown_word("input", key, sorted(filter(None, known)))
        if {"model", "options"} <= fields.keys() and self.model:
            options = self.config.get("options")
            choice = ModelChoice.model_construct(
                model=self.model, options=options if isinstance(options, dict) else {}
            )
            for below, message in option_faults(choice):
                yield ("config", *below), message


class StoredCases(BaseModel):
    """Cases from rows that an agent has stored."""

    model_config = _CONFIG

    agent: str = Field(description="The agent, such as a pipeline's.")
    table: str | None = Field(default=None, description="Its table; the last one with rows if omitted.")
    execution: str | None = Field(default=None, description="Id of the execution; the newest one if omitted.")
    limit: PositiveInt | None = Field(default=None, description="The first rows only.")


def _cases(given: object, info: ValidationInfo) -> object:
    context = info.context or {}
    folder: Path | None = context.get("folder")
    if isinstance(given, str) and folder is not None:
        return own_file(given, folder, is_trusted=bool(context.get("runs_code")))
    return given


class EvalSpec(BaseModel):
    """An evaluation: each case is given to the task, and each answer to the evaluators."""

    model_config = _CONFIG

    name: str = Field(
        default="",
        max_length=100,
        pattern=r"^[\w.@ -]*$",
        description="Its name; by default the name of its file.",
    )
    description: str = ""
    task: EvalTask
    cases: Annotated[tuple[EvalCase, ...] | StoredCases | str, BeforeValidator(_cases)] = Field(
        description="A list; a JSONL, JSON, YAML or CSV file; or ``{agent: NAME}`` for its stored rows."
    )
    columns: CaseColumns = Field(
        default=CaseColumns(), description="Columns of the file or of the rows, if they have other names."
    )
    evaluators: tuple[EvaluatorSpec, ...] = Field(min_length=1)
    repeats: PositiveInt = Field(default=1, le=100, description="Tries of each case.")
    parallel: PositiveInt = Field(default=4, le=100, description="Tries in parallel.")
    timeout_s: PositiveFloat = Field(default=300.0, description="Seconds that an answer may take.")
    max_usd: NonNegativeFloat | None = Field(
        default=None, description="Budget of a run in US dollars, judges included."
    )
    max_tokens: NonNegativeInt | None = Field(default=None, description="Budget of a run in tokens.")
    limits: dict[str, FiniteFloat] = Field(
        default_factory=dict,
        description="Evaluator -> the lowest average; ``passed`` is the share of tries that pass.",
    )
    replies: Replies = Field(
        default="ask", description="``record`` asks only for replies not yet recorded, ``replay`` never asks."
    )
    recordings: Annotated[str | None, BeforeValidator(_cases)] = Field(
        default=None, description="Folder of recorded replies; by default beside the file."
    )

    @field_validator("cases")
    @classmethod
    def _different(
        cls, cases: tuple[EvalCase, ...] | StoredCases | str
    ) -> tuple[EvalCase, ...] | StoredCases | str:
        try:
            return tuple(checked_cases(cases, "the list")) if isinstance(cases, tuple) else cases
        except CasesError as exc:
            raise ValueError(str(exc)) from None

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        count = Counter(one.label for one in self.evaluators)
        if twice := [name for name, number in count.items() if number > 1]:
            raise ValueError(f"two evaluators are called {twice[0]!r}; rename one")
        if PASSED in count:
            raise ValueError(f"an evaluator cannot be called {PASSED!r}: that is the share of passed tries")
        if unknown := [name for name in self.limits if name not in (PASSED, *count)]:
            raise ValueError(f"limits: {unknown_word('evaluator', unknown[0], [PASSED, *count])}")
        if self.replies != "ask" and self.recordings is None:
            raise ValueError(f"replies: {self.replies} needs recordings, a folder")
        return self

    def faults(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield the faults that only the installation shows: place and message."""
        for place, message in self.task.faults():
            yield ("task", *place), message
        for index, one in enumerate(self.evaluators):
            if isinstance(one, FunctionEvaluator):
                try:
                    one.load()
                except (OwnCodeError, EvalError) as exc:
                    yield ("evaluators", index, "function"), str(exc)

    @property
    def labels(self) -> list[str]:
        """The names of its evaluators."""
        return [one.label for one in self.evaluators]

    def check_cases(self, cases: tuple[EvalCase, ...] | list[EvalCase], source: str) -> None:
        """Check that there is something to compare answers with.

        Raises:
            CasesError: An evaluator compares, and no case has an expected answer.
        """
        comparing = next((one.label for one in self.evaluators if one.needs_expected), None)
        if comparing is not None and all(case.expected is None for case in cases):
            raise CasesError(
                f"evaluator {comparing!r} compares with 'expected', but no case of {source} has it; add it, "
                "or name its column under columns"
            )


def eval_schema() -> dict[str, JSONValue]:
    """Return the JSON Schema of an evaluation, for editors."""
    schema: dict[str, Any] = EvalSpec.model_json_schema(by_alias=True)
    return cast("dict[str, JSONValue]", {"$schema": DIALECT, "title": "Evaluation", **schema})


def all_choices(spec: EvalSpec) -> Iterator[tuple[tuple[str | int, ...], ModelChoice]]:
    """Yield the models of judges, with their places."""
    for index, one in enumerate(spec.evaluators):
        options: Mapping[str, JSONValue] | None = getattr(one, "options", None)
        if options is not None:
            model = getattr(one, "model", "")
            yield ("evaluators", index), ModelChoice.model_construct(model=model, options=dict(options))

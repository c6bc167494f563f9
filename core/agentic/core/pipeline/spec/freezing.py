"""A spec made complete: its named pipelines are inserted, its implied inputs declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from agentic.core.actors import Actor
from agentic.core.pipeline.spec.inputs import InputSpec, InputType
from agentic.core.pipeline.spec.spec import (
    ActorStep,
    ChooseStep,
    LoopStep,
    PipelineSpec,
    PipelineStep,
    Step,
)
from agentic.core.pipeline.spec.step_names import required_inputs

Find = Callable[[str], PipelineSpec | None]
"""Name or file of a pipeline -> the pipeline; None if unknown."""

_TYPES: Mapping[str, InputType] = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "array": "list",
    "object": "object",
}


def with_pipelines(spec: PipelineSpec, find: Find) -> PipelineSpec:
    """Return ``spec`` with every pipeline it names inserted; unknown ones stay names."""
    steps = _whole(spec.steps, find)
    return spec if steps == spec.steps else spec.model_copy(update={"steps": steps})


def with_implied_inputs(spec: PipelineSpec, actors: Mapping[str, type[Actor]]) -> PipelineSpec:
    """Return ``spec`` with inputs for the missing values of its first step, if it declares no inputs.

    A spec may therefore begin with ``{actor: InitialFetcher}`` and be run with ``--input url=...``.
    """
    first = spec.steps[0]
    if "inputs" in spec.model_fields_set or not isinstance(first, ActorStep) or first.actor not in actors:
        return spec
    model = actors[first.actor].Input
    properties = model.model_json_schema(by_alias=True).get("properties", {})
    lacking = {names[0]: properties.get(names[0], {}) for names in required_inputs(model, first.config)}
    inputs = {name: InputSpec(type=kind) for name, schema in lacking.items() if (kind := _type_of(schema))}
    return spec.model_copy(update={"inputs": inputs}) if inputs else spec


def _type_of(schema: Mapping[str, object]) -> InputType | None:
    return _TYPES.get(str(schema.get("type")))


def _whole(steps: Sequence[Step], find: Find) -> tuple[Step, ...]:
    return tuple(_whole_step(step, find) for step in steps)


def _whole_step(step: Step, find: Find) -> Step:
    match step:
        case LoopStep():
            return step.model_copy(update={"loop_steps": _whole(step.loop_steps, find)})
        case ChooseStep():
            rows = {"steps": _whole(step.steps, find), "otherwise": _whole(step.otherwise, find)}
            return step.model_copy(update=rows)
        case PipelineStep(pipeline=str() as name):
            found = find(name)
            return step if found is None else step.model_copy(update={"pipeline": found})
        case PipelineStep():
            inner = cast(PipelineSpec, step.pipeline)
            return step.model_copy(update={"pipeline": with_pipelines(inner, find)})
        case _:
            return step

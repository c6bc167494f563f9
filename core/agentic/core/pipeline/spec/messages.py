"""Pydantic's errors in the words of a person who wrote a spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, get_args, get_origin

from pydantic import BaseModel, ValidationError

from agentic.core.http import HttpPolicy
from agentic.core.pipeline.errors import Fault
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.pipeline.expressions.suggestions import suggestion, unknown_word
from agentic.core.pipeline.policies.policies import ErrorRule, Fallback
from agentic.core.pipeline.spec.inputs import InputSpec
from agentic.core.pipeline.spec.spec import (
    STEP_TYPES,
    ActorStep,
    CrawlStep,
    DetailRules,
    FileRules,
    FollowRules,
    Limits,
    PageActor,
    PipelineSpec,
    StoreRules,
)

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_KINDS = {
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "string_type": "a text",
}
"""Type of an error -> the expected value."""

STEP_LISTS = frozenset({"steps", "loop_steps", "otherwise"})
_TAGS_BELOW = {
    ("pipeline", "pipeline"): frozenset({"spec", "name"}),
    ("crawl", "detail"): frozenset({"rule", "rules"}),
}
"""Type of a step and key in it -> the words that distinguish its variants."""
_PARTS: Mapping[str, type[BaseModel]] = {
    "http": HttpPolicy,
    "limits": Limits,
    "follow": FollowRules,
    "fetch": PageActor,
    "files": FileRules,
    "links": PageActor,
    "rule": DetailRules,
    "rules": DetailRules,
    "store": StoreRules,
    "retry_with_actor": Fallback,
}
_TOP: Mapping[str, type[BaseModel]] = {"": PipelineSpec, "http": HttpPolicy, "limits": Limits}
_VALUES: Mapping[str, type[BaseModel]] = {"inputs": InputSpec, "error_handling": ErrorRule}


def faults_of(exc: ValidationError) -> list[Fault]:
    """Return the faults of a :class:`PipelineSpec`, with places as in its text."""
    errors = exc.errors()
    return [
        Fault(place=_place(error["loc"]), message=_message(error))
        for error in errors
        if not _follows(error, errors)
    ]


def value_faults(exc: ValidationError, model: type[BaseModel]) -> list[str]:
    """Return a sentence for each fault of a mapping that ``model`` refused, with keys and without values."""
    errors = exc.errors(include_url=False, include_input=False)
    unknown = [error["loc"] for error in errors if error["type"] == "extra_forbidden"]
    told = [_value_fault(error) for error in errors if error["type"] != "extra_forbidden"]
    for owner in dict.fromkeys(loc[:-1] for loc in unknown):
        keys = [unknown_key_within(loc, model) for loc in unknown if loc[:-1] == owner]
        # The known keys are listed once, at the end.
        told += [_at(owner, key.partition(" (known: ")[0]) for key in keys[:-1]]
        told.append(_at(owner, keys[-1]))
    return told


def _value_fault(error: ErrorDetails) -> str:
    if error["type"] == "missing":
        return _at(error["loc"][:-1], f"{error['loc'][-1]!r} is missing")
    return _at(error["loc"], plain_message(error))


def _at(loc: Sequence[int | str], message: str) -> str:
    return f"{'.'.join(map(str, loc))}: {message}" if loc else message


def unknown_key(key: object, model: type[BaseModel]) -> str:
    """Return the message for a key that ``model`` does not have."""
    names = [field.alias or name for name, field in model.model_fields.items()]
    return unknown_word("key", str(key), names)


def unknown_key_within(loc: Sequence[int | str], model: type[BaseModel]) -> str:
    """Return the message for the last key of ``loc``, which a value below ``model`` does not have."""
    found = _model_at(model, loc[:-1])
    return f"unknown key {loc[-1]!r}" if found is None else unknown_key(loc[-1], found)


def _model_at(kind: object, loc: Sequence[int | str]) -> type[BaseModel] | None:
    """Return the model of the value at ``loc`` in a value of the type ``kind``; None if it is not a model."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if not loc:
            return kind
        fields = ((field.alias or name, field) for name, field in kind.model_fields.items())
        return next((_model_at(field.annotation, loc[1:]) for key, field in fields if key == loc[0]), None)
    arguments = get_args(kind)
    origin = get_origin(kind)
    if origin is Annotated:
        return _model_at(arguments[0], loc)
    if isinstance(origin, type) and issubclass(origin, (Mapping, Sequence)) and loc:
        return _model_at(arguments[1 if issubclass(origin, Mapping) else 0], loc[1:])
    return next((found for one in arguments if (found := _model_at(one, loc)) is not None), None)


def _follows(error: ErrorDetails, errors: Sequence[ErrorDetails]) -> bool:
    """Whether a list is called too short only because its elements were refused."""
    loc = error["loc"]
    return error["type"] == "too_short" and any(
        len(other["loc"]) > len(loc) and other["loc"][: len(loc)] == loc for other in errors
    )


def _message(error: ErrorDetails) -> str:
    loc = error["loc"]
    context = error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            return _with_place(unknown_key(loc[-1], model := _model_around(loc)), str(loc[-1]), model)
        case "missing":
            return f"{loc[-1]!r} is missing"
        case "union_tag_invalid":
            return unknown_word("step type", str(context["tag"]), STEP_TYPES)
        case "union_tag_not_found":
            return f"a step is a mapping with 'actor' or 'type', not {error['input']!r:.60}"
        case "value_error":
            return str(context["error"])
        case _:
            return _unfit(error)


def _unfit(error: ErrorDetails) -> str:
    """Return the message for a value that does not fit."""
    if error["loc"] == ("name",) and error["type"] == "string_pattern_mismatch":
        return f"set `name` to a word of A-Z, a-z, 0-9, '_', '.' and '-'; it is {error['input']!r:.80}"
    message = plain_message(error)
    return message if repr(error["input"]) in message else f"{message} (it is {error['input']!r:.80})"


def plain_message(error: ErrorDetails) -> str:
    """Return pydantic's message, in the words of YAML where its words are Python's."""
    if error["type"] == "literal_error" and isinstance(word := error.get("input"), str):
        known = error.get("ctx", {})["expected"].split("'")[1::2]
        return f"{word!r:.80} is not a known value{suggestion(word, known, known)}"
    kind = _KINDS.get(error["type"])
    return error["msg"].removeprefix("Value error, ") if kind is None else f"it should be {kind}"


def _with_place(message: str, key: str, model: type[BaseModel]) -> str:
    """Return the message for an unknown key, with the place where the key belongs, if it is known."""
    if key in STEP_TYPES and "actor" in model.model_fields:
        return f"unknown key {key!r}; write it as `type: {key}`"
    if (home := _home(key, model)) is not None:
        return f"unknown key {key!r}; it belongs {home}"
    if not {"actor", "config"} <= model.model_fields.keys() or "did you mean" in message:
        return message
    return f"{message}; options of the actor belong under config: {{{key}: ...}}"


def _home(key: str, model: type[BaseModel]) -> str | None:
    """Return the place of a key that was written at the top, among the limits, or beside a step's options."""
    if key in CrawlStep.model_fields.keys() - ActorStep.model_fields.keys() and model in _TOP.values():
        return "in a step with `type: crawl`"
    for name, owner in _TOP.items():
        if name and key in owner.model_fields and owner is not model and model in (*_TOP.values(), CrawlStep):
            return f"under {name}: {{{key}: ...}} at the top of the pipeline"
    return None


def _place(loc: Sequence[int | str]) -> ValuePath:
    """Leave out pydantic's words for the types of steps and the variants of other values."""
    return tuple(part for index, part in enumerate(loc) if not _is_tag(loc, index))


def _is_tag(loc: Sequence[int | str], index: int) -> bool:
    if index >= 2 and loc[index] in _TAGS_BELOW.get((str(loc[index - 2]), str(loc[index - 1])), ()):
        return _is_tag(loc, index - 2)
    return (
        index >= 2
        and loc[index] in STEP_TYPES
        and isinstance(loc[index - 1], int)
        and loc[index - 2] in STEP_LISTS
    )


def _model_around(loc: Sequence[int | str]) -> type[BaseModel]:
    """Return the model that should have the last key of ``loc``."""
    owner = len(loc) - 2
    if owner >= 1 and loc[owner - 1] in _VALUES:
        return _VALUES[str(loc[owner - 1])]
    names = [part for part in loc[: owner + 1] if isinstance(part, str)] or [""]
    if owner >= 0 and _is_tag(loc, owner) and names[-1] in STEP_TYPES:
        return STEP_TYPES[names[-1]]
    return _PARTS.get(names[-1], PipelineSpec)

"""The JSON Schema of a pipeline, for editors: they complete keys, actors and the config of each actor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import BaseModel

from agentic.core.actors import FAILURE_CLASSES, Actor
from agentic.core.pipeline.spec.spec import REFERENCE_SCHEMA, STEP_TYPES, PipelineSpec
from agentic.core.types import JSONValue

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_STATUS = r"^(http_)?\d{3}(_error)?$|^http_[45]xx$|^\*$"
_STEP_ROWS = frozenset({"steps", "loop_steps", "otherwise"})
_CALLS_AN_ACTOR = ("ActorStep", "PageActor", "DetailRules", "Fallback")

Schema = dict[str, Any]


def spec_schema(actors: Mapping[str, type[Actor]]) -> dict[str, JSONValue]:
    """Return the JSON Schema of a pipeline that may call ``actors``.

    Values that a config leaves out may come from earlier results, so no key of a config is
    required; any value may be a reference instead.

    Args:
        actors: Name or alias -> actor.
    """
    schema: Schema = PipelineSpec.model_json_schema(by_alias=True)
    parts: Schema = schema["$defs"]
    for name in _CALLS_AN_ACTOR:
        parts[name] = {**parts[name], "allOf": list(_configs(actors))}
        parts[name]["properties"]["actor"] = _actor_names(actors, parts[name]["properties"]["actor"])
    _name_failure_classes([schema, *parts.values()], actors)
    parts["Step"] = _step()
    for part in [schema, *parts.values()]:
        for row in _STEP_ROWS & part.get("properties", {}).keys():
            part["properties"][row]["items"] = {"$ref": "#/$defs/Step"}
    for name, part in _input_parts(actors):
        parts.setdefault(name, part)
    return cast(dict[str, JSONValue], {"$schema": DIALECT, "title": "Pipeline", **schema})


def actor_schema(actor: type[Actor]) -> dict[str, JSONValue]:
    """Return the description of an actor as data, with its input and output as JSON Schemas."""
    return {
        "name": actor.name,
        "version": actor.version,
        "aliases": [*actor.aliases],
        "description": (actor.__doc__ or "").strip(),
        "capabilities": [*sorted(actor.capabilities)],
        "failure_classes": [*sorted(actor.all_failure_classes())],
        "input": cast(JSONValue, actor.Input.model_json_schema(by_alias=True)),
        "output": cast(JSONValue, actor.Output.model_json_schema(mode="serialization")),
    }


def _step() -> Schema:
    """Return one step, by its type: a plain choice of schemas would only report that none of them fits."""
    step: Schema = {"$ref": "#/$defs/ActorStep"}
    for kind, model in STEP_TYPES.items():
        if kind != "actor":
            is_kind = {"properties": {"type": {"const": kind}}, "required": ["type"]}
            step = {"if": is_kind, "then": {"$ref": f"#/$defs/{model.__name__}"}, "else": step}
    return {"type": "object", **step}


def _actor_names(actors: Mapping[str, type[Actor]], known: Schema) -> Schema:
    one = {key: known[key] for key in known.keys() & {"description", "default", "title"}}
    own: JSONValue = {"type": "string", "pattern": r"\.py:\w+$"}
    return {**one, "anyOf": [{"enum": sorted(actors)}, own]}


def _configs(actors: Mapping[str, type[Actor]]) -> Iterator[Schema]:
    """Yield, for each actor, the schema of its config where a step names it."""
    for actor in sorted(set(actors.values()), key=lambda actor: actor.name):
        names = [actor.name, *actor.aliases]
        yield {
            "if": {"properties": {"actor": {"enum": names}}, "required": ["actor"]},
            "then": {"properties": {"config": {"$ref": f"#/$defs/{_part_name(actor.Input, actor)}"}}},
        }


def _input_parts(actors: Mapping[str, type[Actor]]) -> Iterator[tuple[str, Schema]]:
    for actor in set(actors.values()):
        template = "#/$defs/" + _part_name("{model}", actor)
        own: Schema = actor.Input.model_json_schema(by_alias=True, ref_template=template)
        for name, part in own.pop("$defs", {}).items():
            yield _part_name(name, actor), part
        yield _part_name(actor.Input, actor), _as_config(own)


def _part_name(model: type[BaseModel] | str, actor: type[Actor]) -> str:
    """Return the name of a part of an actor's input: two actors may have models with the same name."""
    return f"{actor.name}.{model if isinstance(model, str) else model.__name__}"


def _as_config(schema: Schema) -> Schema:
    properties = {
        name: {"anyOf": [part, REFERENCE_SCHEMA]} | _words(part)
        for name, part in schema.get("properties", {}).items()
    }
    return {**{key: value for key, value in schema.items() if key != "required"}, "properties": properties}


def _words(part: Schema) -> Schema:
    return {key: part[key] for key in ("description", "default") if key in part}


def _name_failure_classes(parts: list[Schema], actors: Mapping[str, type[Actor]]) -> None:
    classes = sorted(FAILURE_CLASSES.union(*(actor.failure_classes for actor in actors.values())))
    for part in parts:
        rules = part.get("properties", {}).get("error_handling")
        if rules is not None:
            rules["propertyNames"] = {"anyOf": [{"enum": classes}, {"pattern": _STATUS}]}

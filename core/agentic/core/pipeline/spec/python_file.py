"""Pipelines in Python files: a variable ``pipeline``, or functions that are the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from agentic.core.actors.own_code import OwnCodeError, functions_of, load_file
from agentic.core.pipeline.errors import Fault, SpecError

VARIABLE = "pipeline"


def pipeline_of(path: Path) -> dict[str, Any]:
    """Return the pipeline of a Python file as data. The file is run.

    It is the variable ``pipeline`` (a ``PipelineSpec``, YAML text, or a mapping that may contain functions
    as actors); without one, each function is a step, in their order.

    Raises:
        SpecError: The file cannot be run, or has neither.
    """
    if not path.is_file():
        raise SpecError(str(path), [Fault(message="it cannot be read: no such file; check the path")])
    try:
        module = load_file(path.resolve())
    except OwnCodeError as exc:
        raise SpecError(str(path), [Fault(message=str(exc))]) from None

    def name_of(function: Callable[..., Any]) -> str:
        return f"./{path.name}:{function.__name__}"

    found = getattr(module, VARIABLE, None)
    if found is None:
        steps = [{"actor": name_of(function)} for function in functions_of(module)]
        if not steps:
            message = f"it defines neither {VARIABLE!r} nor a function; add pipeline = {{'steps': [...]}}"
            raise SpecError(str(path), [Fault(message=message)])
        return {"steps": steps}
    if isinstance(found, BaseModel):
        found = found.model_dump(mode="json", exclude_unset=True, by_alias=True)
    if isinstance(found, str):
        found = yaml.safe_load(found)
    if not isinstance(found, Mapping):
        message = f"{VARIABLE} is a {type(found).__name__}; a pipeline is a mapping with 'steps'"
        raise SpecError(str(path), [Fault(message=message)])
    return {str(key): _plain(value, name_of) for key, value in found.items()}


def _plain(value: object, name_of: Callable[[Callable[..., Any]], str]) -> object:
    """Return data with the names of functions in place of the functions."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part, name_of) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part, name_of) for part in value]
    return name_of(value) if callable(value) and hasattr(value, "__name__") else value

"""Answers to requests: their required types, and the checks.

A process that never ran the asking handler may answer a request, so the type is kept by name. Names are
looked up among the types that the workflow itself uses; nothing is ever imported by name.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from agentic.core.graph.codec.plans import stored_name
from agentic.core.graph.errors import AnswerError, HandlerError

_BUILT_IN: Mapping[str, object] = {
    kind.__name__: kind for kind in (str, int, float, bool, bytes, list, dict, tuple, set, object)
} | {"None": None, "Any": Any}
_SUBSCRIPTED = {"list": list, "dict": dict, "tuple": tuple, "set": set}


def name_type(annotation: object) -> str:
    """Return the name of a type: ``bool``, ``app.models.Approval``, ``list[str]``, ``int | None``.

    Raises:
        HandlerError: It is not a class, union, literal, or list, dict, tuple or set of them.
    """
    if annotation is None or annotation is type(None):
        return "None"
    if annotation is Any:
        return "Any"
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in {Union, types.UnionType}:
        return " | ".join(map(name_type, args))
    if origin is Literal:
        return f"Literal{list(args)!r}"
    if origin in _SUBSCRIPTED.values():
        return f"{getattr(origin, '__name__', '')}[{', '.join(map(name_type, args))}]"
    if isinstance(annotation, type) and origin is None:
        built_in = _BUILT_IN.get(annotation.__name__) is annotation
        return annotation.__name__ if built_in else stored_name(annotation)
    raise HandlerError(
        f"request_info cannot ask for {annotation!r}; "
        f"ask for a class, a union, a Literal, or a list, dict, tuple or set of such"
    )


def coerced(request_id: str, wanted: str, declared: Mapping[str, type], answer: object) -> object:
    """Return ``answer`` as a value of the type called ``wanted``.

    Args:
        request_id: For messages.
        wanted: A name from :func:`name_type`.
        declared: The types that the workflow uses, by name.
        answer: A value, or the JSON of one.

    Raises:
        AnswerError: It does not fit, or the type is not known here.
    """
    try:
        annotation: Any = _resolve(wanted, declared)
    except (KeyError, SyntaxError, ValueError) as exc:
        reason = f"this workflow does not use a type of that name ({exc}); name it in the executor that asks"
        raise AnswerError(request_id, wanted, reason) from exc
    try:
        return TypeAdapter(annotation).validate_python(answer)
    except ValidationError as exc:
        raise AnswerError(request_id, wanted, _sentence(exc)) from exc
    except PydanticUserError:  # a plain class: pydantic can only check for an instance
        if isinstance(annotation, type) and isinstance(answer, annotation):
            return answer
        raise AnswerError(request_id, wanted, f"it is a {type(answer).__name__}") from None


def _sentence(exc: ValidationError) -> str:
    parts = [
        f"{'.'.join(map(str, error['loc']))}: {error['msg']}".removeprefix(": ")
        for error in exc.errors(include_url=False, include_input=False)
    ]
    return "; ".join(parts)


def _resolve(name: str, declared: Mapping[str, type]) -> object:
    if name in declared:
        return declared[name]
    members = _split(name, "|")
    if len(members) > 1:
        return Union[tuple(_resolve(member, declared) for member in members)]  # noqa: UP007  # made at run time
    if name.startswith("Literal[") and name.endswith("]"):
        import ast

        return Literal[tuple(ast.literal_eval(name.removeprefix("Literal")))]
    head, bracket, rest = name.partition("[")
    if bracket:
        arguments = [_resolve(part, declared) for part in _split(rest.removesuffix("]"), ",")]
        return types.GenericAlias(_SUBSCRIPTED[head], tuple(arguments))
    return _BUILT_IN[name]


def _split(text: str, separator: str) -> Sequence[str]:
    """Split at a separator outside of brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "[]":
            depth += 1 if character == "[" else -1
        elif character == separator and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()]

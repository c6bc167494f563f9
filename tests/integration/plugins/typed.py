"""Requests against the types of an SDK: what is missing, wrong or unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError


def unknown_in(body: Mapping[str, Any], shape: TypeAdapter[Any]) -> Iterator[str]:
    """Yield what does not fit a ``TypedDict``, whose validation drops unknown fields."""
    try:
        found = _listed(shape.validate_python(body))
    except ValidationError as exc:
        yield from (f"{error['loc']}: {error['msg']}" for error in exc.errors()[:3])
        return
    yield from _differences(body, found, "")


def _listed(value: Any) -> Any:
    """Return lists where pydantic checks lazily, at the reading of an ``Iterable``."""
    if isinstance(value, dict):
        return {name: _listed(one) for name, one in value.items()}
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return value
    return [_listed(one) for one in value]


def _differences(sent: Any, known: Any, place: str) -> Iterator[str]:
    if isinstance(sent, dict) and isinstance(known, dict):
        for name, value in sent.items():
            if name in known:
                yield from _differences(value, known[name], f"{place}.{name}")
            else:
                yield f"unknown field {place}.{name}"
    elif isinstance(sent, list) and isinstance(known, list):
        for index, (one, other) in enumerate(zip(sent, known, strict=True)):
            yield from _differences(one, other, f"{place}[{index}]")
    elif sent != known:
        yield f"{place}: {sent!r} is read as {known!r}"

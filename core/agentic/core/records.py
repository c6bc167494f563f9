"""Small immutable classes with many instances in every superstep, and for every page of a crawl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, overload

from pydantic import BaseModel
from typing_extensions import dataclass_transform

ClassT = TypeVar("ClassT", bound=type)
ModelT = TypeVar("ModelT", bound=BaseModel)

# Found once: ``object.__setattr__`` looks for them at each call, and takes nearly twice as long.
_new = object.__new__
_set_values, _set_given, _set_extra, _set_private = (
    BaseModel.__dict__[name].__set__
    for name in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)


@overload
def record(cls: ClassT, /) -> ClassT: ...
@overload
def record(*, kw_only: bool) -> Callable[[ClassT], ClassT]: ...
@dataclass_transform(frozen_default=True)
def record(cls: ClassT | None = None, /, *, kw_only: bool = False) -> ClassT | Callable[[ClassT], ClassT]:
    """Make a slotted dataclass that type checkers treat as frozen.

    A dataclass frozen at run time sets each field through ``object.__setattr__``, and its creation takes
    three times as long: with about ten records per superstep that was a fifth of the engine's cost.
    """
    # Hashable like a frozen dataclass, so that records can be defaults of fields.
    made = dataclass(slots=True, unsafe_hash=True, kw_only=kw_only)
    return made if cls is None else made(cls)  # type: ignore[return-value]  # slots make a new class


def unchecked(model: type[ModelT], values: dict[str, object], given: set[str]) -> ModelT:
    """Create a model of valid values: ``model_construct`` and ``model_copy`` take three times as long.

    Args:
        model: Without private attributes and extra fields.
        values: All of its fields by name, as after validation; the model keeps the dict.
        given: Names of the fields that were set explicitly; models may share one set.
    """
    made = _new(model)
    _set_values(made, values)
    _set_given(made, given)
    _set_extra(made, None)
    _set_private(made, None)
    return made

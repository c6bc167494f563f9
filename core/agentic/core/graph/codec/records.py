"""The codec's plans for dataclasses, pydantic models, enums and NamedTuples: made per class, and kept."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum, Flag
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

import pydantic
from pydantic import BaseModel, ValidationError

from agentic.core.graph.codec.builtins import BUILT_IN, is_url, url_plan
from agentic.core.graph.codec.plans import (
    LEAN,
    RefusalError,
    TypeCodec,
    Walker,
    content,
    shown,
    stored_name,
    walk_values,
)
from agentic.core.types import JSONValue

RecordT = TypeVar("RecordT")

_MODEL_PARTS = {"$": str, "v": dict, "extra": dict, "private": dict, "unset": list}


@lru_cache(maxsize=1024)
def plan_of(cls: type) -> TypeCodec:
    """Return the plan of a dataclass, a pydantic model or URL, an enum or a NamedTuple.

    Raises:
        RefusalError: ``cls`` is another type, or its values cannot be restored from their fields.
    """
    if issubclass(cls, Enum):
        return _flag_plan(cls) if issubclass(cls, Flag) else _enum_plan(cls)
    if issubclass(cls, BaseModel):
        return _model_plan(cls)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _named_tuple_plan(cls)
    if is_url(cls) and (plan := url_plan(cls.__name__)):
        return plan
    base = next((plan.cls for plan in BUILT_IN if issubclass(cls, plan.cls)), None) or next(
        filter(is_url, cls.__mro__), None
    )
    if base is None and dataclasses.is_dataclass(cls):
        return _pydantic_dataclass_plan(cls) if _is_pydantic_dataclass(cls) else _dataclass_plan(cls)
    raise RefusalError(_why_not(cls, base), stored_name(cls))


def _is_pydantic_dataclass(cls: type) -> bool:
    # pydantic's function of this name, without its module, which is as large as the engine's whole codec.
    return "__is_pydantic_dataclass__" in vars(cls)


def _why_not(cls: type, base: type | None) -> str:
    if issubclass(cls, (pydantic.SecretStr, pydantic.SecretBytes, pydantic.Secret)):
        return "secrets are never stored; send the name of the secret, and read the secret where it is used"
    if base is not None:
        return f"only {base.__name__} itself can be stored, not a subclass; convert it, or use a dataclass"
    return "it is not a data type; use a dataclass or a pydantic model"


def _enum_plan(cls: type[Enum]) -> TypeCodec:
    name = stored_name(cls)
    return TypeCodec(
        cls,
        name,
        lambda _, member, __: {"$": name, "v": member._name_},
        lambda _, data, __: cls.__members__[content(data, str)],
    )


def _flag_plan(cls: type[Flag]) -> TypeCodec:
    """Return a plan that writes the number: a combination of flags has no name of its own."""
    name = stored_name(cls)
    return TypeCodec(
        cls,
        name,
        lambda _, flag, __: {"$": name, "v": flag._value_},
        lambda _, data, __: cls(content(data, int)),
    )


def _named_tuple_plan(cls: type[Any]) -> TypeCodec:
    name, names = stored_name(cls), tuple(cls._fields)
    defaults: Mapping[str, Any] = cls._field_defaults

    def write(writer: Walker[JSONValue], value: tuple[object, ...], depth: int) -> JSONValue:
        return {"$": name, "v": walk_values(writer, zip(names, value, strict=True), depth + 1)}

    def read(reader: Walker[object], data: dict[str, Any], depth: int) -> object:
        found = _read_fields(reader, content(data, dict), names, depth, defaults)
        return cls._make(found[field] if field in found else defaults[field] for field in names)

    return TypeCodec(cls, name, write, read)


def _dataclass_plan(cls: type[Any]) -> TypeCodec:
    name, names, init_names = _described_fields(cls)
    # The results of __post_init__ were stored: a second call could change them.
    restored = names if hasattr(cls, "__post_init__") else tuple(n for n in names if n not in init_names)
    defaults = _defaults(cls)

    def read(reader: Walker[object], data: dict[str, Any], depth: int) -> object:
        found = _read_fields(reader, content(data, dict), names, depth, defaults)
        made = cls(**{field: found[field] for field in init_names if field in found})
        for field in restored:
            if field in found:
                object.__setattr__(made, field, found[field])
        return made

    return TypeCodec(cls, name, _fields_writer(name, names), read)


def _pydantic_dataclass_plan(cls: type[Any]) -> TypeCodec:
    name, names, init_names = _described_fields(cls)
    defaults = _defaults(cls)

    def read(reader: Walker[object], data: dict[str, Any], depth: int) -> object:
        found = _read_fields(reader, content(data, dict), names, depth, defaults)
        given = {field: found[field] for field in init_names if field in found}
        made = _validated(cls, given)
        _refuse_changes({field: getattr(made, field) for field in given}, given)
        for field in found.keys() - given.keys():
            object.__setattr__(made, field, found[field])
        return made

    return TypeCodec(cls, name, _fields_writer(name, names), read)


def _described_fields(cls: type[Any]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return a dataclass's stored name, its fields, and the fields that its constructor takes.

    Raises:
        RefusalError: The constructor takes other arguments.
    """
    fields = dataclasses.fields(cls)
    init_names = tuple(field.name for field in fields if field.init)
    taken = list(inspect.signature(cls).parameters)
    # Parameters of pydantic's dataclasses have aliases, so they are only counted.
    if len(taken) != len(init_names) or (not _is_pydantic_dataclass(cls) and set(taken) != set(init_names)):
        raise RefusalError(
            "its constructor does not take exactly its fields, so it cannot be restored; remove InitVar "
            "and its own __init__, or use a pydantic model",
            stored_name(cls),
        )
    return stored_name(cls), tuple(field.name for field in fields), init_names


def _fields_writer(
    name: str, names: tuple[str, ...]
) -> Callable[[Walker[JSONValue], object, int], JSONValue]:
    values_of = _together(names, attrgetter)

    def write(writer: Walker[JSONValue], value: object, depth: int) -> JSONValue:
        return {"$": name, "v": walk_values(writer, zip(names, values_of(value), strict=True), depth + 1)}

    return write


def _together(names: tuple[str, ...], getter: Callable[..., Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Return a function that gets all of the names at once, as a tuple: also for one name or none."""
    if len(names) > 1:
        return getter(*names)
    each = [getter(name) for name in names]
    return lambda value: tuple(get(value) for get in each)


def _defaults(cls: type[Any]) -> frozenset[str]:
    """Return the fields of a dataclass with a default, for data from older versions without them."""
    missing = dataclasses.MISSING
    return frozenset(
        field.name
        for field in dataclasses.fields(cls)
        if field.init and (field.default is not missing or field.default_factory is not missing)
    )


def _read_fields(
    reader: Walker[object],
    fields: Mapping[str, object],
    names: tuple[str, ...],
    depth: int,
    defaults: Collection[str],
) -> dict[str, Any]:
    if tuple(fields) != names and (odd := _odd(fields.keys(), names, defaults)):
        field = min(odd)
        raise RefusalError(f"its field {shown(field)} is {'missing' if field in names else 'unknown'}")
    return walk_values(reader, fields.items(), depth + 1)


def _odd(fields: Collection[str], names: Collection[str], defaults: Collection[str]) -> set[str]:
    """Return the unknown fields, and the missing fields that a type needs."""
    return {name for name in fields if name not in names} | {
        name for name in names if name not in fields and name not in defaults
    }


def _model_plan(cls: type[BaseModel]) -> TypeCodec:
    """Return a plan that writes the fields, and also ``extra``, ``private`` and ``unset``, if any."""
    name, names = stored_name(cls), tuple(cls.model_fields)
    defaults = frozenset(field for field, info in cls.model_fields.items() if not info.is_required())
    fields_of = _lean_fields(cls, names) if _is_lean(cls) else _all_fields(names)

    def write(writer: Walker[JSONValue], model: BaseModel, depth: int) -> JSONValue:
        fields = walk_values(writer, fields_of(model), depth + 1)
        data: dict[str, Any] = {"$": name, "v": fields}
        if extra := model.__pydantic_extra__:
            data["extra"] = walk_values(writer, extra.items(), depth + 1)
        if private := model.__pydantic_private__:
            data["private"] = walk_values(writer, private.items(), depth + 1)
        if (
            unset := (fields.keys() | extra.keys() if extra else fields.keys())
            - model.__pydantic_fields_set__
        ):
            data["unset"] = sorted(unset)
        return data

    def read(reader: Walker[object], data: dict[str, Any], depth: int) -> object:
        if any(type(part) is not _MODEL_PARTS.get(key) for key, part in data.items()):
            raise RefusalError("a pydantic model consists of 'v', 'extra', 'private' and 'unset'")
        found = _read_fields(reader, data["v"], names, depth, defaults)
        extra = walk_values(reader, data.get("extra", {}).items(), depth + 1)
        private = walk_values(reader, data.get("private", {}).items(), depth + 1)
        return _made_model(cls, found, extra, private, data.get("unset", []))

    return TypeCodec(cls, name, write, read)


_FieldsOf = Callable[[BaseModel], Iterable[tuple[str, object]]]


def _all_fields(names: tuple[str, ...]) -> _FieldsOf:
    values_of = _together(names, itemgetter)
    return lambda model: zip(names, values_of(vars(model)), strict=True)


def _is_lean(cls: type[BaseModel]) -> bool:
    """Whether a model says so itself, or the generic one it is made from: subclasses have other defaults."""
    return bool(vars(cls.__pydantic_generic_metadata__["origin"] or cls).get(LEAN))


def _lean_fields(cls: type[BaseModel], names: tuple[str, ...]) -> _FieldsOf:
    """Return a function that gives the fields that were set, or do not have their default.

    Readers give the others their default, and take them as not set. Readers of older versions do so, too: a
    missing field may have been added since.
    """
    defaults = {name: cls.model_fields[name].get_default(call_default_factory=True) for name in names}

    def fields_of(model: BaseModel) -> Iterable[tuple[str, object]]:
        values, given = vars(model), model.__pydantic_fields_set__
        for name in names:
            value = values[name]
            if name in given or not _is_same(value, defaults[name]):
                yield name, value

    return fields_of


def _is_same(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and value == default)


def _made_model(
    cls: type[BaseModel],
    fields: dict[str, Any],
    extra: dict[str, Any],
    private: dict[str, Any],
    unset: list[str],
) -> BaseModel:
    made: BaseModel = _validated(cls, fields["root"] if cls.__pydantic_root_model__ else {**fields, **extra})
    _refuse_changes(vars(made), fields)
    _refuse_changes(made.__pydantic_extra__ or {}, extra)
    if unknown := private.keys() - cls.__private_attributes__.keys():
        raise RefusalError(f"private attribute {shown(min(unknown))} does not exist")
    if private:
        object.__setattr__(made, "__pydantic_private__", private)
    object.__setattr__(made, "__pydantic_fields_set__", (fields.keys() | extra.keys()) - set(unset))
    return made


def _validated(cls: type[RecordT], given: object) -> RecordT:
    """Return an instance that passed the type's own validators, by field names and without ``__init__``."""
    validator: Any = getattr(cls, "__pydantic_validator__", None)
    try:
        made = validator.validate_python(given, self_instance=cls.__new__(cls), by_alias=False, by_name=True)
    except ValidationError as exc:  # its own text shows the values, which may be secret
        faults = exc.errors(include_url=False, include_context=False, include_input=False)
        first = ".".join(map(str, faults[0]["loc"]))
        raise RefusalError(f"the validation of {first or 'it'} failed: {faults[0]['msg']}") from None
    if isinstance(made, cls) and type(made) is cls:
        return made
    raise RefusalError("its validators return another type")


def _refuse_changes(made: Mapping[str, object], stored: Mapping[str, object]) -> None:
    """Refuse values that validation changed: they do not fit, or would change at every resume."""
    for field, value in stored.items():
        if field not in made or (made[field] is not value and made[field] != value):
            raise RefusalError(
                f"validation changes {field!r}: the stored value is invalid, or a validator changes its "
                "own results"
            )

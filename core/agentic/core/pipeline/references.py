"""``${inputs.start_url}``: plain dotted paths to inputs and earlier results, and nothing cleverer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentic.core.actors import ActorError
from agentic.core.types import JSONValue

Path = tuple[str, ...]
Place = tuple[str | int, ...]
Lookup = Callable[[Path], JSONValue]

_OPENING = "${"
_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_PATH = re.compile(r"[A-Za-z_][\w-]*(\.[\w-]+)*")


class ReferenceFailedError(ActorError):
    """A reference leads nowhere in the results there are."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"${{{'.'.join(path)}}} {reason}", failure_class="reference")
        self.path = path


@dataclass(frozen=True, slots=True)
class Found:
    """A reference in a spec: its text between the braces, and where in the value it stands.

    ``path`` is None for what is no plain dotted path.
    """

    text: str
    place: Place
    path: Path | None


def parse_path(text: str) -> Path | None:
    """Return ``"a.b"`` as ``("a", "b")``, None if it is no plain dotted path."""
    return tuple(text.split(".")) if _PATH.fullmatch(text) else None


def is_reference(value: object) -> bool:
    """Whether ``value`` is one reference and nothing else, so that it stands for a value of any type."""
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


def source_path(text: str) -> Path | None:
    """Return the path of a loop's source, written ``list.list_item_urls`` or ``${list.list_item_urls}``."""
    whole = _REFERENCE.fullmatch(text)
    return parse_path(whole.group(1).strip() if whole else text)


def find_references(value: JSONValue, place: Place = ()) -> Iterator[Found]:
    """Yield every reference in ``value``, at whatever depth."""
    if isinstance(value, str):
        yield from _in_text(value, place)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from find_references(part, (*place, key))
    elif isinstance(value, Sequence):
        for index, part in enumerate(value):
            yield from find_references(part, (*place, index))


def resolve(value: JSONValue, lookup: Lookup) -> JSONValue:
    """Return ``value`` with every reference replaced by what ``lookup`` gives for its path.

    A string that is one reference becomes the value itself; within a longer string it becomes text.

    Raises:
        ReferenceFailedError: A reference leads nowhere, or to a list or mapping in the middle of a text.
    """
    if isinstance(value, str):
        return _resolve_text(value, lookup)
    if isinstance(value, Mapping):
        return {key: resolve(part, lookup) for key, part in value.items()}
    if isinstance(value, Sequence):
        return [resolve(part, lookup) for part in value]
    return value


def descend(value: JSONValue, path: Path, whole: Path) -> JSONValue:
    """Return what ``path`` leads to in ``value``; numbers index lists.

    Args:
        value: Where to start.
        path: What is left to go.
        whole: The reference it is part of, for the message.

    Raises:
        ReferenceFailedError: There is no such part.
    """
    for name in path:
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            raise ReferenceFailedError(whole, f"finds no {name!r} in a {_kind(value)}")
    return value


def _in_text(text: str, place: Place) -> Iterator[Found]:
    matched = _REFERENCE.findall(text)
    for inner in matched:
        yield Found(inner, place, parse_path(inner.strip()))
    if len(matched) < text.count(_OPENING):
        yield Found(text, place, None)


def _resolve_text(text: str, lookup: Lookup) -> JSONValue:
    whole = _REFERENCE.fullmatch(text)
    if whole:
        return lookup(tuple(whole.group(1).strip().split(".")))
    return _REFERENCE.sub(lambda found: _as_text(tuple(found.group(1).strip().split(".")), lookup), text)


def _as_text(path: Path, lookup: Lookup) -> str:
    value = lookup(path)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ReferenceFailedError(
        path, f"is a {_kind(value)} and cannot stand within a text; let it stand alone"
    )


def _kind(value: JSONValue) -> str:
    if isinstance(value, Mapping):
        known = ", ".join(map(str, value)) or "nothing"
        return f"mapping of {known}"
    return {list: "list", type(None): "null"}.get(type(value), type(value).__name__)

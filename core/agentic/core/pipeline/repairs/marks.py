"""Parts of a spec that stand in lists, known again after an edit of the list. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from agentic.core.pipeline.expressions.references import ValuePath, is_reference
from agentic.core.types import JSONValue


class PartMark(BaseModel):
    """The facts that identify a step, or a rule of a crawl, at any index.

    Attributes:
        kind: Type of the step, or its actor.
        id: Its id.
        hosts: Of its addresses, and references that stand for addresses.
        globs: Of the pages that it reads.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: str = ""
    id: str = ""
    hosts: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()

    def is_like(self, other: PartMark) -> bool:
        """Return whether both are probably of one part: it may have got an id, a host or a glob since."""
        if self.kind != other.kind:
            return False
        if self.id and other.id:
            return self.id == other.id
        return _share(self.hosts, other.hosts) and _share(self.globs, other.globs)


def marks_at(spec: JSONValue, place: ValuePath) -> tuple[PartMark, ...]:
    """Return the mark of each part in a list that a place leads through, its last key left out."""
    found: list[PartMark] = []
    part = spec
    for key in place[:-1]:
        if isinstance(part, list) and isinstance(key, int) and 0 <= key < len(part):
            part = part[key]
            found.append(mark_of(part))
        else:
            part = part.get(str(key)) if isinstance(part, dict) else None
    return tuple(found)


def index_of(parts: Sequence[JSONValue], index: int, mark: PartMark) -> int | None:
    """Return the index of a part in a list now; None if it is gone, or several may be it.

    Args:
        parts: The list.
        index: Where the part was.
        mark: Its mark.
    """
    marks = [mark_of(part) for part in parts]
    same = [at for at, one in enumerate(marks) if one == mark]
    alike = same or [at for at, one in enumerate(marks) if one.is_like(mark)]
    if index in alike:
        return index
    return alike[0] if len(alike) == 1 else None


def mark_of(part: JSONValue) -> PartMark:
    """Return the mark of a part of a list."""
    if not isinstance(part, dict):
        return PartMark()
    config = part.get("config")
    urls = [part.get("start"), config.get("url") if isinstance(config, dict) else None]
    return PartMark(
        kind=str(part.get("type") or part.get("actor") or ""),
        id=str(part.get("id") or ""),
        hosts=_sorted(host for url in urls for text in _texts(url) if (host := _host_of(text))),
        globs=_sorted(_globs_of(part)),
    )


def _globs_of(part: Mapping[str, JSONValue]) -> Iterator[str]:
    yield from _texts(part.get("match"))
    rules = part.get("detail")
    for rule in rules if isinstance(rules, list) else [rules]:
        if isinstance(rule, dict):
            yield from _texts(rule.get("match"))


def _host_of(url: str) -> str:
    """Return the host of an address; "" for a text without one, which may hold a secret."""
    if is_reference(url):
        return url
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _texts(value: JSONValue) -> Sequence[str]:
    return [str(one) for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def _sorted(texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(sorted({*texts}))


def _share(some: Sequence[str], others: Sequence[str]) -> bool:
    return not {*some}.isdisjoint(others) or not (some or others)

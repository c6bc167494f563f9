"""The messages of scripted executors, and what can be read off any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from zlib import crc32

from tests.property.graph.shapes import Rule

from agentic.core import ItemResult
from agentic.core.graph import ExecutorFailure


@dataclass
class Note:
    """A message that can be changed, and whose receivers scribble on it."""

    text: str
    hops: int = 0
    marks: list[str] = field(default_factory=list)

    def scribble(self) -> None:
        """Spoil it for everyone who holds the same object."""
        self.marks.append(self.text)
        self.text = "spoilt"
        self.hops = 0


@dataclass(frozen=True)
class Slip:
    """A message that cannot be changed."""

    text: str
    hops: int = 0


class FlawError(Exception):
    """A failure that was written down in a script."""


def gist(message: object) -> str:
    """Return all that a scripted executor looks at in a message, as text."""
    match message:
        case Note() | Slip():
            return message.text + "*" * (isinstance(message, Note) and bool(message.marks))
        case ExecutorFailure():
            # Messages of the engine's own errors name the run.
            text = message.message if message.error_type == FlawError.__name__ else ""
            return f"!{message.executor_id}:{message.error_type}:{text}"
        case ItemResult():
            value = message.error if message.value is None else message.value
            return f"{message.index}:{gist(message.item)}={gist(value)}"
        case list():
            return f"[{','.join(map(gist, message))}]"
        case _:
            return str(message)


def hops_of(message: object) -> int:
    """Return how many executors a message has passed, on its longest way."""
    match message:
        case Note() | Slip():
            return message.hops
        case ExecutorFailure():
            hops = message.message.partition("|")[0]
            return int(hops) if hops.isdecimal() else 99
        case ItemResult():
            return max(map(hops_of, (message.item, message.value, message.error)))
        case list():
            return max(map(hops_of, message), default=3)
        case _:
            return 0


def scribble_on(message: object) -> None:
    """Change everything in a message that can be changed."""
    match message:
        case Note():
            message.scribble()
        case ItemResult():
            scribble_on(message.item)
            scribble_on(message.value)
        case list():
            for part in message:
                scribble_on(part)
            message.append(Slip("spoilt"))
        case _:
            pass


def share_of(message: object, among: int, salt: str = "") -> int:
    """Return a number below ``among`` that depends on the message alone."""
    return crc32(f"{salt}{gist(message)}".encode()) % among


def digest(parts: Sequence[str]) -> str:
    """Return a few characters that stand for ``parts``."""
    return f"{crc32('|'.join(parts).encode()) & 0xFFFFFF:06x}"


def holds(rule: Rule, message: object) -> bool:
    """Whether a condition lets a message pass."""
    return hops_of(message) < rule.below and share_of(message, rule.among) < rule.share

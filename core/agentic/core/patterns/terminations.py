"""When a conversation ends: the same conditions for all patterns, combined with ``|`` and ``&``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from agentic.core.llm.messages import ChatMessage, ChatRole

TerminationFunc = Callable[[Sequence[ChatMessage]], bool]
"""Gets the conversation, from the request that began it, and returns whether it ends."""


class Termination:
    """A condition that ends a conversation. ``a | b`` ends when one holds, ``a & b`` when both hold.

    Args:
        holds: Whether the conversation ends.
        words: The condition, for people.
    """

    def __init__(self, holds: TerminationFunc, words: str) -> None:
        self._holds = holds
        self.words = words

    def __call__(self, conversation: Sequence[ChatMessage]) -> bool:
        """Whether the conversation ends."""
        return bool(self._holds(conversation))

    def reason(self, conversation: Sequence[ChatMessage]) -> str:
        """Return the condition that ends the conversation, in words; empty if none does."""
        return self.words if self(conversation) else ""

    def __or__(self, other: TerminationFunc) -> Termination:
        return _Any(self, as_termination(other))

    def __ror__(self, other: TerminationFunc) -> Termination:
        return _Any(as_termination(other), self)

    def __and__(self, other: TerminationFunc) -> Termination:
        return _All(self, as_termination(other))

    def __rand__(self, other: TerminationFunc) -> Termination:
        return _All(as_termination(other), self)

    def __repr__(self) -> str:
        return self.words


class _Any(Termination):
    def __init__(self, *parts: Termination) -> None:
        super().__init__(
            lambda said: any(part(said) for part in parts), " or ".join(part.words for part in parts)
        )
        self._parts = parts

    def reason(self, conversation: Sequence[ChatMessage]) -> str:
        return next(filter(None, (part.reason(conversation) for part in self._parts)), "")


class _All(Termination):
    def __init__(self, *parts: Termination) -> None:
        super().__init__(
            lambda said: all(part(said) for part in parts),
            " and ".join(f"({part.words})" if isinstance(part, _Any) else part.words for part in parts),
        )


def as_termination(given: TerminationFunc) -> Termination:
    """Return a condition or a function as a condition.

    Raises:
        TypeError: It cannot be called, or must be awaited.
    """
    if isinstance(given, Termination):
        return given
    if not callable(given):
        raise TypeError(f"a termination is a function of the conversation, not {given!r:.100}")
    if inspect.iscoroutinefunction(given):
        raise TypeError(f"the termination {given!r:.100} is async; write it with `def`")
    return Termination(given, getattr(given, "__name__", "a condition").replace("<lambda>", "a condition"))


def max_messages_termination(count: int) -> Termination:
    """End when there are this many messages, the request included."""
    _check_count("max_messages_termination", count)
    return Termination(lambda said: len(said) >= count, f"{count} messages")


def max_rounds_termination(count: int) -> Termination:
    """End when participants have answered this many times."""
    _check_count("max_rounds_termination", count)
    return Termination(lambda said: len(_answers(said)) >= count, f"{count} rounds")


def keyword_termination(word: str, *, author: str | None = None) -> Termination:
    """End when a participant has said a word, in any letter case; the request does not count.

    Args:
        word: A word or a part of a sentence. ``approved`` is also in ``not approved``: agree on a word that
            is said for nothing else.
        author: Only this participant counts.
    """
    if not word.strip():
        raise ValueError("keyword_termination needs a word; every answer contains an empty one")
    wanted = word.casefold()

    def said_it(said: Sequence[ChatMessage]) -> bool:
        return any(
            wanted in one.text.casefold() and author in (None, one.author_name) for one in _answers(said)
        )

    return Termination(said_it, f"{author or 'a participant'} said {word!r}")


def any_termination(*conditions: TerminationFunc | Sequence[TerminationFunc]) -> Termination:
    """End when one of the conditions holds: ``any_termination(a, b)`` is ``a | b``."""
    parts: list[Any] = []
    for one in conditions:
        parts += one if isinstance(one, Sequence) else [one]
    if not parts:
        raise ValueError("any_termination needs a condition")
    return _Any(*map(as_termination, parts))


def _answers(said: Sequence[ChatMessage]) -> list[ChatMessage]:
    return [one for one in said if one.role is ChatRole.ASSISTANT]


def _check_count(name: str, count: int) -> None:
    if count < 1:
        raise ValueError(f"{name}({count}) would end the conversation before it begins; give 1 or more")

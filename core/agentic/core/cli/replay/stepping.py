"""Going through the steps of a run by hand: forwards, backwards, to one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

KEYS = "Enter or n: next, b: back, g N: superstep N, q: quit"

_ON = frozenset({"n", "next", "\x1b[C"})  # the last ones are what an arrow key sends
_BACK = frozenset({"b", "back", "p", "\x1b[D"})
_QUIT = frozenset({"q", "quit", "exit"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What a line that was typed comes to.

    Attributes:
        to: Position of the step to show; None to end.
        hint: What to say instead, when there is nothing to show.
    """

    to: int | None
    hint: str = ""


def move(line: str, at: int, numbers: Sequence[int], *, is_backwards: bool = False) -> Move:
    """Return where a line leads.

    Args:
        line: As typed; nothing goes on in the direction of travel.
        at: Position of the step that is shown.
        numbers: The superstep of each step.
        is_backwards: Whether the direction of travel is towards the first step.
    """
    word, _, rest = line.strip().partition(" ")
    if word in _QUIT:
        return Move(to=None)
    if word in _ON or (not word and not is_backwards):
        return _to(at + 1, at, numbers)
    if word in _BACK or not word:
        return _to(at - 1, at, numbers)
    number = rest.strip() if word == "g" else word.removeprefix("g")
    if not number.isascii() or not number.isdigit():
        return Move(to=at, hint=KEYS)
    if int(number) not in numbers:
        return Move(to=at, hint=f"superstep {number} does not exist; there are {span(numbers)}")
    return Move(to=numbers.index(int(number)))


def span(numbers: Sequence[int]) -> str:
    """Return which supersteps there are, in words."""
    first, last = min(numbers), max(numbers)
    return str(first) if first == last else f"{first} to {last}"


def go_through(
    numbers: Sequence[int],
    show: Callable[[int], None],
    ask: Callable[[str], str],
    say: Callable[[str], None],
    *,
    is_backwards: bool = False,
) -> None:
    """Show steps as they are asked for, until there is no more asking.

    Args:
        numbers: The superstep of each step.
        show: Shows the step at a position.
        ask: Returns a line, given a prompt; raises `EOFError` when there are no more.
        say: Shows a hint.
        is_backwards: Begin with the last step.
    """
    at = len(numbers) - 1 if is_backwards else 0
    show(at)
    while True:
        try:
            line = ask(f"[{at + 1}/{len(numbers)}] ")
        except (EOFError, KeyboardInterrupt):
            say("")
            return
        found = move(line, at, numbers, is_backwards=is_backwards)
        if found.to is None:
            return
        if found.hint:
            say(found.hint)
        else:
            at = found.to
            show(at)


def _to(wanted: int, at: int, numbers: Sequence[int]) -> Move:
    if 0 <= wanted < len(numbers):
        return Move(to=wanted)
    return Move(to=at, hint=f"this is the {'first' if wanted < 0 else 'last'} step; {KEYS}")

"""Going through steps by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from agentic.core.cli.replay.stepping import go_through, move

NUMBERS = [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("line", "to"),
    [
        ("", 2), ("n", 2), ("\x1b[C", 2), ("b", 0), ("\x1b[D", 0), (" b ", 0),
        ("g 2", 3), ("g2", 3), ("2", 3), ("g 1", 1), ("q", None),
    ],
)  # fmt: skip
def test_a_line_leads_to_a_step(line: str, to: int | None) -> None:
    found = move(line, 1, NUMBERS)
    assert (found.to, found.hint) == (to, "")


@pytest.mark.parametrize(
    ("line", "at", "hint"),
    [("n", 3, "last step"), ("b", 0, "first step"), ("g 9", 1, "0 to 2"), ("g", 1, "quit"), ("x", 1, "quit")],
)
def test_a_line_that_leads_nowhere_is_answered_with_a_hint(line: str, at: int, hint: str) -> None:
    found = move(line, at, NUMBERS)
    assert found.to == at
    assert hint in found.hint


def test_backwards_nothing_goes_back_and_n_still_goes_on() -> None:
    assert move("", 2, NUMBERS, is_backwards=True).to == 1
    assert move("n", 2, NUMBERS, is_backwards=True).to == 3


def typing(lines: Iterable[str]) -> Callable[[str], str]:
    left = iter(lines)

    def ask(prompt: str) -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    return ask


@pytest.mark.parametrize(("is_backwards", "shown"), [(False, [0, 1, 3, 2, 0]), (True, [3, 2, 3, 2, 0])])
def test_steps_are_shown_as_they_are_asked_for(is_backwards: bool, shown: list[int]) -> None:
    seen: list[int] = []
    said: list[str] = []
    go_through(
        NUMBERS, seen.append, typing(["", "g 2", "b", "g 7", "g 0"]), said.append, is_backwards=is_backwards
    )
    assert seen == shown
    assert said == ["superstep 7 does not exist; there are 0 to 2", ""]


def test_quitting_ends_it_without_another_word() -> None:
    seen: list[int] = []
    said: list[str] = []
    go_through(NUMBERS, seen.append, typing(["q", "n"]), said.append)
    assert (seen, said) == ([0], [])

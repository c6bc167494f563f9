"""Questions about the fields of a pipeline, answered in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from agentic.executors.commands.shared.options import OptionError

if TYPE_CHECKING:
    from agentic.core.wrappers import Offer, OfferedField

_YES = frozenset({"", "y", "yes"})
_NO = frozenset({"n", "no"})
_SHOWN = 60
MAX_ANSWERS = 5
"""Values that a user may try for one field."""


def ask(question: str, default: str = "") -> str:
    """Return the answer to a question, from a terminal or a pipe.

    Raises:
        OptionError: The input has ended.
    """
    try:
        return str(typer.prompt(question, default=default, show_default=False, err=True)).strip()
    except typer.Abort:
        raise OptionError(
            "--interactive needs an answer, but the input has ended; answer in a terminal or by a pipe, or "
            "leave --interactive out"
        ) from None


def ask_about(name: str, shown: str) -> str:
    """Return ``yes``, ``no``, or another value that the user gives for a field."""
    text = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."
    answer = ask(f"{name}: {text!r}? [Y/n/other value]")
    if answer.lower() in _YES:
        return "yes"
    return "no" if answer.lower() in _NO else answer


def ask_for_offer(count: int) -> int:
    """Return the place of the offer that the user picks."""
    for _ in range(MAX_ANSWERS):
        answer = ask(f"Which one? [1-{count}]", "1")
        if answer.isdecimal() and 1 <= int(answer) <= count:
            return int(answer) - 1
        typer.echo(f"{answer!r} is not a number from 1 to {count}", err=True)
    raise OptionError(f"no number from 1 to {count} was given; choose one with --pick NUMBER")


def ask_for_fields(offer: Offer) -> dict[str, OfferedField]:
    """Return the fields of an offer that the user wants; another value takes the field that has it.

    Raises:
        OptionError: No field is left, or the input has ended.
    """
    chosen: dict[str, OfferedField] = {}
    for field in offer.fields:
        found: OfferedField | None = field
        for _ in range(MAX_ANSWERS):
            shown = next((row[0] for row in (found or field).texts if row), "")
            answer = ask_about(field.name, shown)
            if answer == "yes":
                break
            if answer == "no":
                found = None
                break
            there = _with_value(offer, answer)
            if there is None:
                typer.echo(f"no field of the {offer.kind.value} has the value {answer!r}", err=True)
            found = there or found
        if found is not None:
            chosen[field.name] = found
    if not chosen:
        raise OptionError("no field is left, so there is nothing to build; answer yes for one at least")
    return chosen


def _with_value(offer: Offer, value: str) -> OfferedField | None:
    return next((one for one in offer.fields if any(value in row for row in one.texts)), None)

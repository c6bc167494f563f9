"""Why a pipeline cannot be built from examples: the value, the page, and the next step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from agentic.core.errors import text_of
from agentic.executors.building.examples_file import ExampleRow, Value
from agentic.executors.commands.shared.options import OptionError

if TYPE_CHECKING:
    from agentic.core.wrappers import BuiltField, OfferedField, PageTree
    from agentic.core.wrappers.building import FoundRows

_FROM_CSV = "give more rows in a CSV file with --examples"

MAX_ALIKE_CHARS = 120
ALIKE = 0.5
"""Share of common words from which a text is named as the one that a user may have meant."""


def no_place(name: str, value: Value, tree: PageTree, *, has_others: bool, is_uneven: bool) -> OptionError:
    """Return the error for a value of a page that no place gives.

    Args:
        name: Of the field.
        value: Its example.
        tree: The page.
        has_others: Whether other pages had to have the place, too.
        is_uneven: Whether fields have different numbers of values, so that they are not rows.
    """
    absent = _absent(value, tree)
    if absent is not None:
        return _not_there(name, absent, tree)
    shown = f"--example {name}: {tree.url} shows {_said(value)}, but"
    if not isinstance(value, str):
        rows = f"; for rows of a list give each name equally often, or {_FROM_CSV}" if is_uneven else ""
        return OptionError(f"{shown} the values are not items of one list{rows or f'; {_FROM_CSV}'}")
    everywhere = " on all pages" if has_others else ""
    return OptionError(
        f"{shown} no selector or words around it find the value{everywhere}; copy the whole text of the "
        f"element, or {_FROM_CSV}"
    )


def not_rows(rows: Sequence[ExampleRow], tree: PageTree, found: FoundRows | None) -> OptionError:
    """Return the error for examples that are not rows of a list."""
    for row in rows:
        for name, value in row.values.items():
            absent = _absent(value, tree) if value else None
            if absent is not None:
                return _not_there(name, absent, tree)
    if found is None:
        return OptionError(
            f"the examples are on {tree.url}, but not in rows that look alike; give values that stand "
            "together in one row, or the fields of one record with --no-rows"
        )
    return OptionError(
        f"{_outside(rows, found)} of the list on {tree.url} ({found.offer.count} rows), and the rows "
        "have no link to a page of their own; leave it out, or copy a value that is in the row"
    )


def not_one_record(url: str, count: int) -> OptionError:
    """Return the error for several rows of a page where one record was asked for."""
    return OptionError(
        f"--no-rows reads one record, but {count} rows of examples are of {url}; give one row for each page, "
        "or leave --no-rows out"
    )


def not_one_kind(url: str) -> OptionError:
    """Return the error for rows of a list among rows of other pages."""
    return OptionError(
        f"the examples are rows of {url} and of other pages; give only rows of this list, or only rows of "
        "the pages that it leads to"
    )


def no_page_of_row(rows: Sequence[ExampleRow], found: FoundRows, error: Exception | None) -> OptionError:
    """Return the error for a field that rows lack, where the page of the row cannot be read.

    Args:
        rows: The examples.
        found: Their list.
        error: Why it cannot be read; None if the row links to no page.
    """
    if error is None:
        return OptionError(
            f"{_outside(rows, found)}, and this row has no link to a page of its own; "
            "give a row with a link, leave the field out, or copy a value that is in the row"
        )
    return OptionError(
        f"{_outside(rows, found)}, and the page that the row links to cannot be read: {text_of(error)}; "
        "leave it out, or copy a value that is in the row"
    )


def warnings_of(
    fields: Mapping[str, BuiltField], urls: Sequence[str], examples: Sequence[Mapping[str, Value]]
) -> list[str]:
    """Return sentences on fields that are not as in all of their examples, or have equal ones."""
    said = [
        f"{name}: {urls[at]} gives {' and '.join(map(repr, one.texts[at]))}, but its example says "
        f"{_said(examples[at].get(name) or '')}; check both"
        for name, one in fields.items()
        for at in one.wrong
    ]
    return [*said, *equal_examples(examples)]


def unsure_fields(fields: Sequence[OfferedField]) -> list[str]:
    """Return a sentence for each field whose examples are at several places that differ in other rows."""
    return [
        f"{one.name}: two places have all its examples, but not the same in other rows; compare the values "
        "with the page, and give a row where the places differ if they are wrong"
        for one in fields
        if one.is_unsure
    ]


def equal_examples(examples: Sequence[Mapping[str, Value]]) -> list[str]:
    """Return a sentence for each two fields whose examples are equal, so that only their names differ."""
    names = dict.fromkeys(name for row in examples for name, value in row.items() if value)
    return [
        f"{one} and {other} are alike in all examples and may get one place; give a row where they differ"
        for one, other in combinations(names, 2)
        if all(row.get(one) == row.get(other) for row in examples)
    ]


def _outside(rows: Sequence[ExampleRow], found: FoundRows) -> str:
    name = found.missing[0]
    value = next((row.values[name] for row in rows if row.values.get(name)), "")
    return f"--example {name}: {_said(value)} is not in its row"


def _not_there(name: str, value: str, tree: PageTree) -> OptionError:
    said = f"--example {name}: no element of {tree.url} has the text {value!r}"
    script = _script_with(tree, value)
    if script is not None:
        return OptionError(
            f"{said}; the data of {script} have it: read them with a rule `json`, or give a text of the page"
        )
    alike = _most_alike(tree, value)
    hint = f"; {alike!r} is most like it" if alike else ""
    return OptionError(f"{said}; copy the value from the page as it is without scripts{hint}")


def _most_alike(tree: PageTree, value: str) -> str:
    """Return the short text of a page that has most of the words of a value; empty if no text is like it."""
    from agentic.core.wrappers.words import dice, text_words

    words = text_words(value)
    texts = (tree.text(number) for number in range(len(tree)) if tree.length(number) <= MAX_ALIKE_CHARS)
    ranked = ((dice(words, text_words(text)), -len(text), text) for text in dict.fromkeys(texts) if text)
    share, _, text = max(ranked, default=(0.0, 0, ""))
    return text if share >= ALIKE else ""


def _absent(value: Value, tree: PageTree) -> str | None:
    """Return the first value that a page does not show; None if it shows all."""
    from agentic.core.wrappers.building import is_shown

    items = [value] if isinstance(value, str) else value
    return next((one for one in items if not is_shown(tree, one)), None)


def _script_with(tree: PageTree, value: str) -> str | None:
    for script in tree.document.select("script"):
        if value in script.text:
            name = script.attr("id")
            return f"the script {name!r}" if name else "a script"
    return None


def _said(value: Value) -> str:
    return repr(value) if isinstance(value, str) else " and ".join(map(repr, value))

"""Locks on parts of a program that are done: later drafts must keep them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Never

from agentic.core.coding.findings import CodeFinding, cut, feedback_of
from agentic.core.coding.languages.registry import find_language
from agentic.core.coding.messages import GeneratedCode, LockedPart, LockOutput
from agentic.core.graph import Executor, ExecutorKind, WorkflowContext, handler

_MAX_FOUND = 20
_ENDS = "{:; "
_CLOSING = ")]}"
_DECORATORS = ("@", "#[", "///", "/**", " *")


class LockValidator(Executor):
    """Refuses drafts that change locked parts. Sends :class:`LockOutput`.

    A part is kept if each of its declarations is in the draft, with the same lines, in any order; blank lines
    and spaces at the end of lines do not count. Without its bodies, its signatures must be in the draft.
    Nothing of a locked part may be declared a second time.

    Args:
        id: Of the node.
        yields_status: Whether it yields a line of text about each result.
    """

    def __init__(self, id: str, *, yields_status: bool = True) -> None:  # noqa: A002  # as of every executor
        super().__init__(id, kind=ExecutorKind.VALIDATOR)
        self.yields_status = yields_status

    @handler
    async def on_code(self, given: GeneratedCode, ctx: WorkflowContext[Never, str]) -> LockOutput:
        """Check a draft."""
        language = find_language(given.language)
        found = [
            CodeFinding(file=language.file, code="locked", text=cut(text))
            for part in given.locked
            for text in changes_in(part, given.code, language.signatures)
        ][:_MAX_FOUND]
        if self.yields_status:
            await ctx.yield_output(f"Locks: {'FAILED' if found else 'PASSED'}")
        return LockOutput(
            code=given.code,
            language=given.language,
            tests=given.tests,
            passed=not found,
            errors=tuple(map(str, found)),
            feedback=feedback_of("Parts that are done were changed:", found, {}) if found else None,
            findings=tuple(found),
        )


def changes_in(part: LockedPart, code: str, signatures: Sequence[str]) -> Iterator[str]:
    """Yield the ways that a draft changes a locked part; none if it keeps it.

    Args:
        part: The part.
        code: The draft.
        signatures: Beginnings of lines that declare something, see :class:`Language`.
    """
    if part.keeps_bodies:
        yield from _changed_lines(part, code)
    else:
        drafted = set(_signatures(code, signatures))
        for line in _signatures(part.code, signatures):
            if line not in drafted:
                yield f"the signature '{line}' of {part.name} is missing; keep it as it is"
    before, now = _declared(part.code, signatures), _declared(code, signatures)
    for name in before:
        if now[name] > before[name]:
            yield f"'{name}' of {part.name} is declared again; declare it once"


def _changed_lines(part: LockedPart, code: str) -> Iterator[str]:
    drafted = _lines(code)
    places: dict[str, list[int]] = {}
    for at, line in enumerate(drafted):
        places.setdefault(line, []).append(at)
    for block in _blocks(_lines(part.code)):
        if any(drafted[at : at + len(block)] == block for at in places.get(block[0], ())):
            continue
        missing = [line for line in block if line not in places]
        for line in missing:
            yield f"the line '{line.strip()}' of {part.name} was changed or removed; keep the part as it is"
        if not missing:
            yield f"the lines after '{block[0].strip()}' of {part.name} were changed; keep the part as it is"


def _blocks(lines: Sequence[str]) -> list[list[str]]:
    """Return the declarations: lines without indentation, with their decorators and the lines inside."""
    blocks: list[list[str]] = []
    is_begun = False
    for line in lines:
        if blocks and (is_begun or line[0].isspace() or line[0] in _CLOSING):
            blocks[-1].append(line)
        else:
            blocks.append([line])
        is_begun = line.startswith(_DECORATORS)
    return blocks


def _lines(code: str) -> list[str]:
    return [line.rstrip() for line in code.split("\n") if line.strip()]


def _signatures(code: str, beginnings: Sequence[str]) -> Iterator[str]:
    for line in code.split("\n"):
        words = " ".join(line.split())
        if words.startswith(tuple(beginnings)):
            yield words.rstrip(_ENDS)


def _declared(code: str, beginnings: Sequence[str]) -> Counter[str]:
    """Return what lines without indentation declare, such as ``class Color``."""
    names: Counter[str] = Counter()
    for line in code.split("\n"):
        if line.startswith(tuple(beginnings)):
            end = next(
                (at for at, sign in enumerate(line) if not (sign.isalnum() or sign in "_ ")), len(line)
            )
            names[" ".join(line[:end].split())] += 1
    return names

"""Text to data, with the line and column where each part begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agentic.core.pipeline.errors import Fault, SpecError
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.reading.data_text import DataTextError, Mark, check_data, read_data


@dataclass(frozen=True, slots=True)
class SpecDocument:
    """Parsed text: the data, and place -> line and column (from 1) where the text is known."""

    data: object
    marks: Mapping[ValuePath, Mark]

    def locate(self, fault: Fault) -> Fault:
        """Return ``fault`` with line and column of its place, or of the nearest part around it."""
        for length in range(len(fault.place), 0, -1):
            if mark := self.marks.get(fault.place[:length]):
                return replace(fault, line=mark[0], column=mark[1])
        return fault


def read_text(text: str, source: str) -> SpecDocument:
    """Parse YAML, or JSON, which most of YAML is.

    Args:
        text: Of the file.
        source: Names it in errors.

    Raises:
        SpecError: It is empty, not valid YAML, names a key twice, or is beyond a limit of
            :mod:`agentic.core.reading.data_text`; line and column are reported.
    """
    if not text.strip():
        raise SpecError(source, [Fault(message="it is empty; a pipeline needs at least 'steps'")])
    try:
        read = read_data(text)
    except DataTextError as exc:
        raise SpecError(source, _faults(exc)) from None
    if read.is_empty:
        raise SpecError(source, [Fault(message="it holds only comments; a pipeline needs at least 'steps'")])
    return SpecDocument(read.data, read.marks)


def given_document(data: Mapping[str, object], source: str) -> SpecDocument:
    """Return data that was given without its text.

    Raises:
        SpecError: It is beyond the limits for texts.
    """
    try:
        check_data(data)
    except DataTextError as exc:
        raise SpecError(source, _faults(exc)) from None
    return SpecDocument(data, {})


def _faults(exc: DataTextError) -> list[Fault]:
    return [
        Fault(message=fault.message, place=fault.place, line=fault.line, column=fault.column)
        for fault in exc.faults
    ]

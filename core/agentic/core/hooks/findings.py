"""The findings of ``agentic doctor``, and how it collects them without waiting for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is: a ``fault`` will not work or loses data; a ``warning`` works, but not as it should."""

    FAULT = "fault"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of ``agentic doctor``.

    Attributes:
        text: The problem, with the value, and the remedy, in a sentence.
        severity: How bad it is.
    """

    text: str
    severity: Severity = Severity.FAULT


def warning(text: str) -> Finding:
    """Return a finding that is only a warning."""
    return Finding(text, Severity.WARNING)


Check = Callable[[], Iterable[str | Finding]]
"""Returns findings; a plain sentence is a fault."""


def findings_of(checks: Sequence[tuple[str, Check]], deadline_s: float) -> list[Finding]:
    """Run named checks in parallel and return their findings in order, each under its check's name.

    A check that raises is a fault. So is one that has not ended after ``deadline_s``: its findings until
    then are kept, and it is left behind on a daemon thread.
    """
    asked = [_Asked(name, check) for name, check in checks]
    until = time.monotonic() + deadline_s
    return [finding for one in asked for finding in one.found(until, deadline_s)]


class _Asked:
    """A check on a thread of its own: one that hangs, for example with its server, delays no other."""

    def __init__(self, name: str, check: Check) -> None:
        self._name = name
        self._found: list[Finding] = []
        self._thread = threading.Thread(target=self._ask, args=(check,), name=f"check {name}", daemon=True)
        self._thread.start()

    def found(self, until: float, deadline_s: float) -> list[Finding]:
        self._thread.join(max(0.0, until - time.monotonic()))
        found = list(self._found)
        if self._thread.is_alive():
            late = f"its checks did not end within {deadline_s:g} s; check that its servers answer"
            found.append(Finding(f"{self._name}: {late}"))
        return found

    def _ask(self, check: Check) -> None:
        try:
            for said in check():
                self._note(said if isinstance(said, Finding) else Finding(said))
        except (Exception, SystemExit) as exc:
            self._note(Finding(f"its check failed: {type(exc).__name__}: {exc}"))

    def _note(self, finding: Finding) -> None:
        self._found.append(Finding(f"{self._name}: {finding.text}", finding.severity))

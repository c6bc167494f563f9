"""How findings of a doctor are told: lines for people, JSON for scripts, and the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agentic.core.cli.output import console
from agentic.core.hooks import Finding, Severity

_STYLES = {Severity.FAULT: "red", Severity.WARNING: "yellow"}


def print_findings(findings: Sequence[Finding]) -> None:
    """Print a line for each, and how many there are."""
    for finding in findings:
        line = f"{finding.severity.upper():>10}  {finding.text}"
        console.print(line, markup=False, highlight=False, emoji=False, style=_STYLES[finding.severity])
    counts = Counter(finding.severity for finding in findings)
    console.print(", ".join(_count(counts[level], level) for level in Severity))


def findings_data(findings: Sequence[Finding]) -> dict[str, list[str]]:
    """Return findings for scripts: ``{"faults": [...], "warnings": [...]}``."""
    return {f"{level}s": [found.text for found in findings if found.severity is level] for level in Severity}


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 1 if there is a fault; a warning is none."""
    return int(any(finding.severity is Severity.FAULT for finding in findings))


def _count(number: int, level: Severity) -> str:
    return f"{number} {level}{'' if number == 1 else 's'}"

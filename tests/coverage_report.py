"""Says how much of each package its tests reach, and whether that is enough.

Usage: ``coverage json -o FILE`` and ``python tests/coverage_report.py FILE``; `make coverage` does both.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LEAST_PERCENT = 80.0
"""Of the lines and branches of each package that tests must reach."""


@dataclass(slots=True)
class Reached:
    """Lines and branches of a package, and how many of them tests reach."""

    all: int = 0
    reached: int = 0

    @property
    def percent(self) -> float:
        """How many of 100 are reached; a package without code is reached."""
        return 100 * self.reached / self.all if self.all else 100.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the share of each package; return 1 if one of them is too low."""
    parser = argparse.ArgumentParser(description="How much of each package its tests reach.")
    parser.add_argument("file", type=Path, help="made by `coverage json -o FILE`")
    found = packages_of(json.loads(parser.parse_args(arguments).file.read_text(encoding="utf-8")))
    for name, reached in found.items():
        sys.stdout.write(f"{name:<36} {reached.percent:5.1f} %  of {reached.all}\n")
    low = [name for name, reached in found.items() if reached.percent < LEAST_PERCENT]
    if low:
        sys.stderr.write(f"below {LEAST_PERCENT:g} %: {', '.join(low)}; `coverage report` shows the lines\n")
    return 1 if low or not found else 0


def packages_of(report: Mapping[str, Mapping[str, Mapping[str, Mapping[str, int]]]]) -> dict[str, Reached]:
    """Return the packages of a JSON report: each of the six, and each part of the core and of the plugins."""
    found: dict[str, Reached] = {}
    for file, facts in report["files"].items():
        counts = facts["summary"]
        for name in _packages(Path(file).parts):
            package = found.setdefault(name, Reached())
            package.all += counts["num_statements"] + counts.get("num_branches", 0)
            package.reached += counts["covered_lines"] + counts.get("covered_branches", 0)
    return dict(sorted(found.items()))


def _packages(parts: Sequence[str]) -> list[str]:
    names = parts[parts.index("agentic") :]
    whole = ".".join(names[:2])
    is_part = names[1] in {"core", "plugins"} and len(names) > 3
    return [whole, ".".join(names[:3])] if is_part else [whole]


if __name__ == "__main__":
    sys.exit(main())

"""What type checkers say about code written against the public API.

Files in ``passes`` must have no error. A line in ``fails`` that must have some says so, with their codes:
``# error: mypy[arg-type] pyright[reportArgumentType]``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
FILES = sorted(str(path.relative_to(REPOSITORY)) for path in HERE.glob("*/*.py"))
_MARK = re.compile(r"# error: (.*)$")
_CODES = re.compile(r"(\w+)\[([\w,-]+)\]")

Finding = tuple[str, int, str]
"""File, line and code."""


def expected(checker: str) -> Iterator[Finding]:
    for file in FILES:
        for number, line in enumerate((REPOSITORY / file).read_text().splitlines(), start=1):
            mark = _MARK.search(line)
            for name, codes in _CODES.findall(mark[1]) if mark else ():
                yield from ((file, number, code) for code in codes.split(",") if name == checker)


def said(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout


def mypy() -> Iterator[Finding]:
    for line in said("mypy", "--output=json", "--no-error-summary", *FILES).splitlines():
        found = json.loads(line)
        if found["severity"] == "error":
            yield found["file"], found["line"], found["code"]


def pyright() -> Iterator[Finding]:
    # A file that the project excludes stays so when it is named; hence the configuration beside this file.
    for found in json.loads(said("pyright", "--outputjson", f"--project={HERE}"))["generalDiagnostics"]:
        file = str(Path(found["file"]).relative_to(REPOSITORY))
        yield file, found["range"]["start"]["line"] + 1, found["rule"]


CHECKERS = {"mypy": mypy, "pyright": pyright}


@pytest.mark.requirement("EX02", "EX10", "EX11", "EX12", "EX23")
@pytest.mark.parametrize("checker", ["mypy", pytest.param("pyright", marks=pytest.mark.slow)])
def test_type_checkers_find_the_marked_errors_and_no_others(checker: str) -> None:
    assert sorted(set(CHECKERS[checker]())) == sorted(expected(checker))

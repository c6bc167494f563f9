"""Python: the interpreter's own compiler, pytest, ruff."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator

from agentic.core.coding.findings import MAX_FINDINGS, CodeFinding, FindingLevel, cut
from agentic.core.coding.languages import fitting, tools
from agentic.core.coding.languages.junit import REPORT, read_junit
from agentic.core.coding.languages.language import (
    CheckReport,
    CodeCheck,
    Language,
    TestsToRun,
    no_report,
)
from agentic.core.sandbox import SandboxResult

_FILE, _TEST_FILE = "main.py", "test_main.py"
_COMPILE = """
import json, sys, warnings

found = []
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for name in sys.argv[1:]:
        try:
            with open(name, "rb") as file:
                compile(file.read(), name, "exec")
        except (SyntaxError, ValueError) as exc:
            place = [getattr(exc, "lineno", 0) or 0, getattr(exc, "offset", 0) or 0]
            found.append([name, *place, type(exc).__name__, getattr(exc, "msg", str(exc))])
json.dump(found, sys.stdout)
sys.exit(bool(found))
"""
_CHECK, _NAMES = "check_syntax.py", "check_names.py"


def _read_compiler(result: SandboxResult) -> CheckReport:
    try:
        found = tuple(
            CodeFinding(
                file=str(name), line=int(line), column=int(column), code=str(kind), text=cut(str(text))
            )
            for name, line, column, kind, text in json.loads(result.stdout)[:MAX_FINDINGS]
        )
    except (ValueError, TypeError):
        return CheckReport(is_whole=False)
    return CheckReport(findings=found)


def _read_ruff(result: SandboxResult) -> CheckReport:
    try:
        found = tuple(_ruff_findings(json.loads(result.stdout)))
    except (ValueError, TypeError, KeyError, AttributeError):
        return CheckReport(is_whole=False)
    return CheckReport(findings=found)


def _ruff_findings(said: list[dict[str, object]]) -> Iterator[CodeFinding]:
    for one in said[:MAX_FINDINGS]:
        place = one["location"]
        row, column = (int(place["row"]), int(place["column"])) if isinstance(place, dict) else (0, 0)
        yield CodeFinding(
            file=str(one["filename"]).rpartition("/")[2],
            line=row,
            column=column,
            code=str(one["code"] or "syntax"),
            text=cut(str(one["message"])),
            level=FindingLevel.WARNING,
        )


def _test(tests: TestsToRun) -> CodeCheck:
    chosen = ("-k", tests.name) if tests.name else ()
    return CodeCheck(
        command=(
            *("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1"),
            *(f"--junitxml={REPORT}", *chosen, _TEST_FILE if tests.are_apart else _FILE),
        ),
        read=read_junit,
        tools=("python", "pytest"),
        keep=(REPORT,),
        environment=(("PYTHONDONTWRITEBYTECODE", "1"), ("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")),
    )


PYTHON = Language(
    name="python",
    aliases=("py", "python3"),
    file=_FILE,
    test_file=_TEST_FILE,
    comment="#",
    signatures=("def ", "async def ", "class "),
    coherence=CodeCheck(
        command=("python3", "-I", _NAMES, _FILE, _TEST_FILE),
        read=_read_compiler,
        tools=("python",),
        files=((_NAMES, inspect.getsource(fitting)),),
        keep=(REPORT,),
    ),
    compile=CodeCheck(
        command=("python3", "-I", _CHECK, _FILE),
        read=_read_compiler,
        tools=("python",),
        files=((_CHECK, _COMPILE),),
        keep=(REPORT,),
    ),
    test=_test,
    lint=CodeCheck(
        command=("ruff", "check", "--isolated", "--no-cache", "--output-format", "json", _FILE),
        read=_read_ruff,
        tools=("ruff",),
        keep=(REPORT,),
    ),
    run=CodeCheck(command=("python3", "-I", _FILE), read=no_report, tools=("python",)),
    finders=(
        ("python", tools.find_python),
        ("pytest", tools.find_pytest),
        ("ruff", tools.find_ruff),
    ),
    instructions=(
        f"The code is the module {_FILE}. Tests are functions of pytest; tests in a file of their own import "
        "from `main`. There is the standard library, and no network."
    ),
)

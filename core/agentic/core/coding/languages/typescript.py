"""TypeScript: its native compiler, and the test runner of node."""

from __future__ import annotations

import json
from functools import partial

from agentic.core.coding.findings import MAX_FINDINGS, CodeFinding, FindingLevel, cut
from agentic.core.coding.languages import tools
from agentic.core.coding.languages.junit import REPORT, read_junit
from agentic.core.coding.languages.language import (
    CheckReport,
    CodeCheck,
    Language,
    TestsToRun,
    no_report,
)
from agentic.core.linear import LinearPattern
from agentic.core.sandbox import SandboxResult

_FILE, _TEST_FILE = "main.ts", "main.test.ts"
_OPTIONS: dict[str, object] = {
    "strict": True,
    "noEmit": True,
    "skipLibCheck": True,
    "target": "es2024",
    "module": "nodenext",
    "allowImportingTsExtensions": True,
    "erasableSyntaxOnly": True,  # node only removes types
    "verbatimModuleSyntax": True,
    "types": ["node"],
    "typeRoots": ["/tools/typescript/node_modules/@types"],
}
_LINT = {"noUnusedLocals": True, "noUnusedParameters": True, "noImplicitReturns": True}
_PACKAGE = ("package.json", '{"type": "module"}')
_LINE = LinearPattern(r"^([^\s(][^(]{0,200})\((\d{1,9}),(\d{1,9})\): (error|warning) (TS\d{1,6}): (.*)$")
_LONE = LinearPattern(r"^(error|warning) (TS\d{1,6}): (.*)$")


def _read_compiler(result: SandboxResult) -> CheckReport:
    found = [one for line in result.stdout.split("\n") if (one := _finding(line)) is not None]
    is_whole = bool(found) if result.exit_code else True
    return CheckReport(findings=tuple(found[:MAX_FINDINGS]), is_whole=is_whole)


def _finding(line: str) -> CodeFinding | None:
    if (match := _LINE.search(line)) is not None:
        file, row, column, level, code, text = (match[number] for number in range(1, 7))
        return CodeFinding(
            file=file, line=int(row), column=int(column), code=code, text=cut(text), level=FindingLevel(level)
        )
    if (match := _LONE.search(line)) is not None:
        return CodeFinding(code=match[2], text=cut(match[3]), level=FindingLevel(match[1]))
    return None


def _read_lint(result: SandboxResult) -> CheckReport:
    report = _read_compiler(result)
    found = tuple(one.model_copy(update={"level": FindingLevel.WARNING}) for one in report.findings)
    return CheckReport(findings=found, is_whole=report.is_whole)


def _compiler(**more: object) -> CodeCheck:
    options = json.dumps({"compilerOptions": {**_OPTIONS, **more}, "include": ["*.ts"]})
    return CodeCheck(
        command=("tsc", "-p", ".", "--pretty", "false"),
        read=_read_lint if more else _read_compiler,
        tools=("typescript",),
        files=(("tsconfig.json", options), _PACKAGE),
        keep=(REPORT,),
    )


def _test(tests: TestsToRun) -> CodeCheck:
    chosen = (f"--test-name-pattern={_literal(tests.name)}",) if tests.name else ()
    return CodeCheck(
        command=(
            *("node", "--test", "--test-reporter=junit", f"--test-reporter-destination={REPORT}"),
            *(*chosen, _TEST_FILE if tests.are_apart else _FILE),
        ),
        read=partial(read_junit, whole_files=(_FILE, _TEST_FILE)),
        tools=("node",),
        files=(_PACKAGE,),
        keep=(REPORT,),
    )


def _literal(name: str) -> str:
    """Return a pattern of JavaScript for a text itself."""
    return "".join(f"\\{sign}" if sign in r"\^$.*+?()[]{}|/" else sign for sign in name)


TYPESCRIPT = Language(
    name="typescript",
    aliases=("ts",),
    file=_FILE,
    test_file=_TEST_FILE,
    comment="//",
    signatures=("export ",),
    compile=_compiler(),
    test=_test,
    lint=_compiler(**_LINT),
    run=CodeCheck(command=("node", _FILE), read=no_report, tools=("node",), files=(_PACKAGE,)),
    finders=(("typescript", tools.find_typescript), ("node", tools.find_node)),
    instructions=(
        f"The code is the ES module {_FILE}, checked with `strict`; node removes its types, so write no "
        "enums and no namespaces. Tests use `node:test` and `node:assert/strict`; tests in a file of their "
        f"own import from `./{_FILE}`. Neither packages of npm nor the network can be used."
    ),
)

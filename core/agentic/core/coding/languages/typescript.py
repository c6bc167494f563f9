"""TypeScript: its native compiler, and a test runner: of node, vitest or jest."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import partial

from agentic.core.coding.findings import MAX_FINDINGS, CodeFinding, FindingLevel, cut
from agentic.core.coding.languages import tools
from agentic.core.coding.languages.jest import JEST_REPORT, read_jest
from agentic.core.coding.languages.junit import REPORT, read_junit
from agentic.core.coding.languages.language import (
    CheckReport,
    CodeCheck,
    Language,
    TestsToRun,
    no_report,
)
from agentic.core.linear import LinearPattern
from agentic.core.sandbox import SandboxResult, ToolFinder

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
_VITEST, _JEST, _STRIP = "vitest.config.mjs", "jest.config.json", "strip_types.cjs"
_STRIP_TYPES = """const { stripTypeScriptTypes } = require('node:module');
module.exports = { process: (source) => ({ code: stripTypeScriptTypes(source) }) };
"""
_REPORTER, _PRINTED, _MAX_PRINTED_CHARS = "errors.mjs", "errors.txt", 100_000
_REPORT_PRINTED = f"""let left = {_MAX_PRINTED_CHARS};
export default async function* (events) {{
  for await (const {{ type, data }} of events) {{
    if (type !== 'test:stderr' && type !== 'test:diagnostic') continue;
    const text = `${{data.message}}\\n`.slice(0, left);
    left -= text.length;
    if (text) yield text;
  }}
}}
"""
_PACKAGE = ("package.json", '{"type": "module"}')
_FILES = (_FILE, _TEST_FILE)
_ERROR = LinearPattern(r"(?m)^(\w{0,60}Error)(?: \[\w{1,60}\])?: (.{1,1000})")
_PLACE = LinearPattern(r"(?m)^file://[^\s:]{0,200}/(main(?:\.test)?\.ts):(\d{1,9})$")
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


def _compiler(runner: str = "", **more: object) -> CodeCheck:
    options = json.dumps({"compilerOptions": {**_OPTIONS, **more}, "include": ["*.ts"]})
    command = ("tsc", "-p", ".", "--pretty", "false")
    return CodeCheck(
        command=_with_packages(runner, *command) if runner else command,
        read=_read_lint if more else _read_compiler,
        tools=("typescript", runner) if runner else ("typescript",),
        files=(("tsconfig.json", options), _PACKAGE),
        keep=(REPORT,),
    )


def _test(tests: TestsToRun) -> CodeCheck:
    chosen = (f"--test-name-pattern={_literal(tests.name)}",) if tests.name else ()
    return CodeCheck(
        command=(
            *("node", "--test", "--test-reporter=junit", f"--test-reporter-destination={REPORT}"),
            *(f"--test-reporter=./{_REPORTER}", f"--test-reporter-destination={_PRINTED}"),
            *(*chosen, _TEST_FILE if tests.are_apart else _FILE),
        ),
        read=_read_tests,
        tools=("node",),
        files=(_PACKAGE, (_REPORTER, _REPORT_PRINTED)),
        keep=(REPORT, _PRINTED),
    )


def _read_tests(result: SandboxResult) -> CheckReport:
    report = read_junit(result, whole_files=_FILES)
    printed = result.text_of(_PRINTED)[:_MAX_PRINTED_CHARS]  # code can write there, too
    findings = tuple(_explained(one, printed) for one in report.findings)
    return dataclasses.replace(report, findings=findings)


def _explained(failure: CodeFinding, printed: str) -> CodeFinding:
    """Return the failure of a whole file with its error, which node prints and does not report."""
    if failure.test not in _FILES:
        return failure
    facts: dict[str, object] = {}
    for error in _ERROR.finditer(printed):  # the last one ended the file; others the program has printed
        facts |= {"code": error[1], "text": error[2]}
    for place in _PLACE.finditer(printed) if facts else ():
        facts |= {"file": place[1], "line": int(place[2])}
    return failure.model_copy(update=facts)


def _test_by_vitest(tests: TestsToRun) -> CodeCheck:
    file = _TEST_FILE if tests.are_apart else _FILE
    config = {"cacheDir": ".vite", "test": {"include": [file], "includeTaskLocation": True}}
    return _check_by(
        "vitest",
        (
            *("vitest/vitest.mjs", "run", "--config", _VITEST, "--configLoader", "native"),
            *("--reporter=json", f"--outputFile={JEST_REPORT}"),
        ),
        tests,
        ((_VITEST, f"export default {json.dumps(config)};\n"),),
    )


def _test_by_jest(tests: TestsToRun) -> CodeCheck:
    file = _TEST_FILE if tests.are_apart else _FILE
    config = {
        "transform": {r"\.ts$": f"./{_STRIP}"},
        "extensionsToTreatAsEsm": [".ts"],
        "testEnvironment": "node",
        "testMatch": [f"**/{file}"],
        "watchman": False,
        "cache": False,
    }
    options = ("--ci", "--runInBand", "--silent", "--testLocationInResults", "--json")
    return _check_by(
        "jest",
        ("jest/bin/jest.js", "--config", _JEST, *options, f"--outputFile={JEST_REPORT}"),
        tests,
        ((_JEST, json.dumps(config)), (_STRIP, _STRIP_TYPES)),
        # Jest runs ES modules only with this flag.
        (("NODE_OPTIONS", "--experimental-vm-modules --no-warnings"),),
    )


def _check_by(
    runner: str,
    words: tuple[str, ...],
    tests: TestsToRun,
    files: tuple[tuple[str, str], ...],
    environment: tuple[tuple[str, str], ...] = (),
) -> CodeCheck:
    """Return the check of a runner of npm; its command begins with the file of its program."""
    chosen = ("--testNamePattern", _literal(tests.name)) if tests.name else ()
    return CodeCheck(
        command=_with_packages(runner, "node", f"node_modules/{words[0]}", *words[1:], *chosen),
        read=partial(read_jest, is_filtered=bool(tests.name)),
        tools=("node", runner),
        files=(*files, _PACKAGE),
        keep=(JEST_REPORT,),
        environment=environment,
    )


def _with_packages(runner: str, *command: str) -> tuple[str, ...]:
    """Return a command that finds the packages of a runner in the folder of the code, like any ES module."""
    return ("sh", "-c", f'ln -s /tools/{runner}/node_modules node_modules && exec "$@"', "sh", *command)


def _literal(name: str) -> str:
    """Return a pattern of JavaScript for a text itself."""
    return "".join(f"\\{sign}" if sign in r"\^$.*+?()[]{}|/" else sign for sign in name)


def _language(
    name: str,
    aliases: tuple[str, ...],
    runner: str,
    test: Callable[[TestsToRun], CodeCheck],
    imports: str,
    finders: tuple[tuple[str, ToolFinder], ...] = (),
) -> Language:
    return Language(
        name=name,
        aliases=aliases,
        marks=("typescript", "ts"),
        file=_FILE,
        test_file=_TEST_FILE,
        comment="//",
        signatures=("export ",),
        compile=_compiler(runner),
        test=test,
        lint=_compiler(runner, **_LINT),
        run=None
        if runner
        else CodeCheck(command=("node", _FILE), read=no_report, tools=("node",), files=(_PACKAGE,)),
        finders=(("typescript", tools.find_typescript), ("node", tools.find_node), *finders),
        instructions=(
            f"The code is the ES module {_FILE}, checked with `strict`; node removes its types, so write no "
            f"enums and no namespaces. Tests use {imports}; tests in a file of their own import from "
            f"`./{_FILE}`. Neither other packages of npm nor the network can be used."
        ),
    )


TYPESCRIPT = _language("typescript", ("ts",), "", _test, "`node:test` and `node:assert/strict`")
TYPESCRIPT_VITEST = _language(
    *("typescript-vitest", ("ts-vitest",), "vitest", _test_by_vitest),
    "`vitest`, from which they import `test` and `expect`",
    (("vitest", tools.find_vitest),),
)
TYPESCRIPT_JEST = _language(
    *("typescript-jest", ("ts-jest",), "jest", _test_by_jest),
    "`jest`: they import `test` and `expect` from `@jest/globals`",
    (("jest", tools.find_jest),),
)

"""Rust with its standard library: rustc and its test harness."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from contextlib import suppress

from agentic.core.coding.findings import MAX_FINDINGS, CodeFinding, FindingLevel, cut
from agentic.core.coding.languages import tools
from agentic.core.coding.languages.junit import REPORT, read_junit
from agentic.core.coding.languages.language import CheckReport, CodeCheck, Language, TestsToRun
from agentic.core.linear import LinearPattern
from agentic.core.sandbox import SandboxResult

_FILE, _TEST_FILE, _ROOT = "main.rs", "tests.rs", "root.rs"
_TESTS_APART = f'include!("{_FILE}");\n#[cfg(test)]\nmod tests_apart {{\n    include!("{_TEST_FILE}");\n}}\n'
_COMMON = ("--edition", "2024", "--error-format=json")
_CHECK = ("rustc", *_COMMON, "--crate-type", "lib", "--emit=metadata")
_PANIC = LinearPattern(
    r"(?m)^thread '[^'\n]{0,500}'(?: \(\d{1,20}\))? panicked at ([^:\n]{1,200}):(\d{1,9}):(\d{1,9}):$"
)
_NOTE = "\nnote: run with `RUST_BACKTRACE="

# The harness of stable Rust writes machine-readable reports only with this variable, set for it alone.
_RUN = (
    f'rustc {" ".join(_COMMON)} --test -A warnings -o run "$1" && shift && '
    f'RUSTC_BOOTSTRAP=1 ./run -Z unstable-options --format junit "$@" > {REPORT}'
)


def _findings(result: SandboxResult) -> Iterator[CodeFinding]:
    for line in result.stderr.split("\n"):
        if not line.startswith("{"):
            continue
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if said.get("$message_type") == "diagnostic" and said.get("level") in {"error", "warning"}:
            with suppress(ValueError, TypeError, AttributeError):  # a line of a test that looks like one
                finding = _finding(said)
                if finding is not None:
                    yield finding


def _finding(said: dict[str, object]) -> CodeFinding | None:
    spans = said.get("spans")
    code = said.get("code")
    primary = [one for one in spans if one.get("is_primary")] if isinstance(spans, list) else []
    if not primary and code is None:  # "aborting due to 2 previous errors"
        return None
    first = primary[0] if primary else {}
    label = first.get("label")
    text = str(said.get("message", ""))
    return CodeFinding(
        file=str(first.get("file_name", "")),
        line=int(first.get("line_start", 0)),
        column=int(first.get("column_start", 0)),
        code=str(code.get("code", "")) if isinstance(code, dict) else "",
        text=cut(f"{text} ({label})" if label else text),
        level=FindingLevel(str(said["level"])),
    )


def _errors(result: SandboxResult) -> tuple[CodeFinding, ...]:
    found = [one for one in _findings(result) if one.level is FindingLevel.ERROR]
    return tuple(found[:MAX_FINDINGS])


def _read_compiler(result: SandboxResult) -> CheckReport:
    found = _errors(result)
    return CheckReport(findings=found, is_whole=bool(found) if result.exit_code else True)


def _read_lint(result: SandboxResult) -> CheckReport:
    found = tuple(_findings(result))[:MAX_FINDINGS]
    return CheckReport(findings=found, is_whole=bool(found) if result.exit_code else True)


def _read_tests(result: SandboxResult) -> CheckReport:
    report = read_junit(_without_output(result))
    if not report.is_whole:
        return CheckReport(findings=_errors(result), is_whole=bool(_errors(result)))
    return dataclasses.replace(report, findings=tuple(map(_placed, report.findings)))


def _without_output(result: SandboxResult) -> SandboxResult:
    """Return a result whose report is without the texts that tests wrote to stdout around it."""
    before, mark, rest = result.files.get(REPORT, b"").partition(b"<testsuites>")
    body, end, _ = rest.rpartition(b"</testsuites>")
    report = mark + body + end if mark and end else before
    return result.model_copy(update={"files": {REPORT: report}})


def _placed(failure: CodeFinding) -> CodeFinding:
    """Return the failure of a test with the place of its panic, which the report has in its text only."""
    found = _PANIC.search(failure.text)
    if found is None:
        return failure
    before, said = failure.text[: found.start], failure.text[found.end :].partition(_NOTE)[0]
    return failure.model_copy(
        update={
            "file": found[1],
            "line": int(found[2]),
            "column": int(found[3]),
            "text": cut(f"{said.strip()}\n{before}") or failure.text,
        }
    )


def _test(tests: TestsToRun) -> CodeCheck:
    root = _ROOT if tests.are_apart else _FILE
    return CodeCheck(
        command=("sh", "-c", _RUN, "sh", root, *((tests.name,) if tests.name else ())),
        read=_read_tests,
        tools=("rust",),
        files=((_ROOT, _TESTS_APART),) if tests.are_apart else (),
        keep=(REPORT,),
    )


RUST = Language(
    name="rust",
    aliases=("rs",),
    file=_FILE,
    test_file=_TEST_FILE,
    comment="//",
    signatures=("pub ", "impl ", "impl<"),
    coherence=CodeCheck(
        command=("rustc", *_COMMON, "--test", "--emit=metadata", "-A", "warnings", _ROOT),
        read=_read_compiler,
        tools=("rust",),
        files=((_ROOT, _TESTS_APART),),
        keep=(REPORT,),
    ),
    compile=CodeCheck(
        command=(*_CHECK, "-A", "warnings", _FILE), read=_read_compiler, tools=("rust",), keep=(REPORT,)
    ),
    test=_test,
    lint=CodeCheck(
        command=(*_CHECK, "-W", "unused", _FILE), read=_read_lint, tools=("rust",), keep=(REPORT,)
    ),
    finders=(("rust", tools.find_rust),),
    instructions=(
        f"The code is the crate root {_FILE} of a library, edition 2024, with the standard library only. "
        "Tests are functions with #[test]; tests in a file of their own are included in a module of the "
        "crate, so they begin with `use super::*;`."
    ),
)

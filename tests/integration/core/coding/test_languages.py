from __future__ import annotations

from dataclasses import dataclass

import pytest

from agentic.core.coding import (
    CodeFinding,
    CodeFingerprinter,
    FindingLevel,
    SandboxValidator,
    UnknownLanguageError,
    find_language,
)
from agentic.core.sandbox import SandboxError
from agentic.core.sandbox.process.arguments import WORK

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Sample:
    """A small program in a language, and its faults."""

    good: str
    does_not_compile: str
    finding: CodeFinding
    tests: str
    with_tests: str
    untidy: str


SAMPLES = {
    "python": Sample(
        good="def double(x: int) -> int:\n    return 2 * x\n",
        does_not_compile="def double(x):\n    return 2 *\n",
        finding=CodeFinding(file="main.py", line=2, column=15, code="SyntaxError", text="invalid syntax"),
        tests=(
            "from main import double\n\n\ndef test_two():\n    assert double(1) == 2\n\n\n"
            "def test_three():\n    assert double(1) == 3\n"
        ),
        with_tests="def double(x):\n    return 2 * x\n\n\ndef test_two():\n    assert double(1) == 2\n",
        untidy="import os\n\n\ndef double(x):\n    return 2 * x\n",
    ),
    "typescript": Sample(
        good="export function double(x: number): number {\n  return 2 * x;\n}\n",
        does_not_compile="export function double(x: number): number {\n  return 'two';\n}\n",
        finding=CodeFinding(
            file="main.ts",
            line=2,
            column=3,
            code="TS2322",
            text="Type 'string' is not assignable to type 'number'.",
        ),
        tests=(
            "import { test } from 'node:test';\nimport assert from 'node:assert/strict';\n"
            "import { double } from './main.ts';\n"
            "test('two', () => { assert.equal(double(1), 2); });\n"
            "test('three', () => { assert.equal(double(1), 3); });\n"
        ),
        with_tests=(
            "import { test } from 'node:test';\nimport assert from 'node:assert/strict';\n"
            "export const double = (x: number): number => 2 * x;\n"
            "test('two', () => { assert.equal(double(1), 2); });\n"
        ),
        untidy="export function double(x: number): number {\n  const unused = 1;\n  return 2 * x;\n}\n",
    ),
    "rust": Sample(
        good="pub fn double(x: i32) -> i32 {\n    2 * x\n}\n",
        does_not_compile='pub fn double(x: i32) -> i32 {\n    "two"\n}\n',
        finding=CodeFinding(
            file="main.rs",
            line=2,
            column=5,
            code="E0308",
            text="mismatched types (expected `i32`, found `&str`)",
        ),
        tests=(
            "use super::*;\n#[test]\nfn two() { assert_eq!(double(1), 2); }\n"
            "#[test]\nfn three() { assert_eq!(double(1), 3); }\n"
        ),
        with_tests=(
            "pub fn double(x: i32) -> i32 { 2 * x }\n#[cfg(test)]\nmod tests {\n    use super::*;\n"
            "    #[test]\n    fn two() { assert_eq!(double(1), 2); }\n}\n"
        ),
        untidy="pub fn double(x: i32) -> i32 {\n    let unused = 1;\n    2 * x\n}\n",
    ),
}

SKIPPED = {
    "def test_two": "import pytest\n\n\n@pytest.mark.skip\ndef test_two",
    "test('two', ": "test('two', { skip: true }, ",
    "#[test]\n": "#[test]\n    #[ignore]\n",
}
"""The beginning of a test, and of one that is skipped."""


@pytest.mark.requirement("SB06")
@pytest.mark.parametrize("language", SAMPLES)
async def test_a_compiler_finds_the_fault_with_its_place(validator: SandboxValidator, language: str) -> None:
    sample = SAMPLES[language]
    good = await validator.validate_code(sample.good, language)
    assert (good.compiles, good.compiler_errors, good.feedback) == (True, (), "")
    bad = await validator.validate_code(sample.does_not_compile, language)
    assert not bad.compiles
    assert sample.finding in bad.findings
    assert str(sample.finding) in bad.compiler_errors
    line = sample.does_not_compile.split("\n")[sample.finding.line - 1]
    assert f"- {sample.finding}\n    {sample.finding.line} | {line}" in bad.feedback
    assert bad.feedback.startswith("The code does not compile:")
    assert bad.execution_time_ms > 0


@pytest.mark.requirement("SB06")
@pytest.mark.parametrize("language", SAMPLES)
async def test_counts_come_from_the_runner(validator: SandboxValidator, language: str) -> None:
    sample = SAMPLES[language]
    found = await validator.run_tests(sample.good, language, sample.tests)
    report = found.report
    assert (found.passed, report.test_count, report.tests_passed, report.tests_failed) == (False, 2, 1, 1)
    [failure] = found.findings
    assert "three" in failure.test
    assert "3" in failure.text
    assert found.feedback.startswith("The tests fail (1 of 2):")
    only = await validator.run_tests(sample.good, language, sample.tests, "two")
    assert (only.passed, only.report.tests_failed) == (True, 0)
    within = await validator.run_tests(sample.with_tests, language)
    assert (within.passed, within.report.test_count) == (True, 1)


@pytest.mark.parametrize("language", ["rust"])
async def test_a_panic_in_a_test_has_its_place_and_its_words(
    validator: SandboxValidator, language: str
) -> None:
    code = "pub fn first(of: &[i32]) -> i32 {\n    *of.first().unwrap()\n}\n"
    tests = (
        'use super::*;\n#[test]\nfn one() { println!("seen"); assert_eq!(first(&[1]), 2); }\n'
        "#[test]\nfn none() { first(&[]); }\n"
    )
    found = await validator.run_tests(code, language, tests)
    none, one = sorted(found.findings, key=lambda finding: finding.test)
    assert (none.place, none.text) == ("main.rs:2:17", "called `Option::unwrap()` on a `None` value")
    assert (one.place, one.text) == (
        "tests.rs:3:30", "assertion `left == right` failed\n  left: 1\n right: 2\nseen"
    )  # fmt: skip
    assert "    2 |     *of.first().unwrap()" in found.feedback
    keys = {CodeFingerprinter().fingerprint(str(finding)).key for finding in found.findings}
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("language", "code", "finding"),
    [
        (
            "python",
            "def single(x): return x\n",
            "test_main.py test test_main: ImportError: cannot import name 'double' from 'main'",
        ),
        (
            "python",
            "def double(x:\n",
            f"""test_main.py test test_main: SyntaxError: '(' was never closed
  File "{WORK}/main.py", line 1
    def double(x:
              ^""",
        ),
        ("python", "import sys\nsys.exit(0)\n", "test internal: SystemExit: 0"),
        (
            "typescript",
            "export const single = (x: number) => x;\n",
            "main.test.ts:3 SyntaxError test main.test.ts: The requested module './main.ts' does not provide",
        ),
        (
            "typescript",
            "console.error('Error: a');\nthrow new TypeError('at once');\nexport const double = 1 as any;\n",
            "main.ts:2 TypeError test main.test.ts: at once",
        ),
    ],
    ids=["no name", "bad syntax", "exit", "no export", "error"],
)
async def test_tests_that_cannot_be_loaded_are_a_finding_with_the_reason(
    validator: SandboxValidator, language: str, code: str, finding: str
) -> None:
    found = await validator.run_tests(code, language, SAMPLES[language].tests)
    (one,) = found.findings
    assert str(one).startswith(finding)


async def test_a_failed_test_of_typescript_has_its_place(validator: SandboxValidator) -> None:
    code = "export function double(x: number): number {\n  throw new RangeError('no');\n}\n"
    found = await validator.run_tests(code, "typescript", SAMPLES["typescript"].tests)
    assert [(one.test, one.place, one.text) for one in found.findings] == [
        ("two", "main.ts:2:9", "no"), ("three", "main.ts:2:9", "no")
    ]  # fmt: skip


@pytest.mark.parametrize("language", ["rust"])
async def test_tests_may_write_what_they_like(validator: SandboxValidator, language: str) -> None:
    code = (
        "use std::io::Write;\npub fn double(x: i32) -> i32 {\n"
        '    std::io::stdout().write_all(b"<seen>").unwrap();\n    2 * x\n}\n'
    )
    tests = "use super::*;\n#[test]\nfn two() { assert_eq!(double(1), 2); }\n"
    lines = "x" * 50
    noisy = tests.replace("assert", f'for _ in 0..100 {{ println!("{lines}"); }} assert').replace(
        ", 2", ", 3"
    )
    (failure,) = (await validator.run_tests(code, language, noisy)).findings
    assert failure.text.startswith("assertion `left == right` failed\n  left: 2\n right: 3\n")
    posed = code.replace("2 * x", 'eprintln!("{}", POSED); std::process::exit(0)')
    posed += (
        r"""const POSED: &str = "{\"$message_type\":\"diagnostic\",\"level\":\"error\",\"spans\":[1]}";"""
    )
    ended = await validator.run_tests(posed, language, tests)
    assert ended.findings[0].text.startswith("no test ran")


@pytest.mark.requirement("SB06")
@pytest.mark.parametrize("language", SAMPLES)
async def test_code_that_runs_no_test_or_does_not_compile_has_not_passed(
    validator: SandboxValidator, language: str
) -> None:
    sample = SAMPLES[language]
    nothing = await validator.run_tests(sample.good, language)
    assert (nothing.passed, nothing.report.tests_passed) == (False, nothing.report.test_count)
    assert nothing.findings
    skipped = sample.with_tests
    for test, skip in SKIPPED.items():
        skipped = skipped.replace(test, skip)
    assert not (await validator.run_tests(skipped, language)).passed
    broken = await validator.run_tests(sample.does_not_compile, language, sample.tests)
    assert not broken.passed
    assert broken.findings


@pytest.mark.requirement("SB06")
@pytest.mark.parametrize("language", SAMPLES)
async def test_a_linter_finds_what_is_unused(validator: SandboxValidator, language: str) -> None:
    sample = SAMPLES[language]
    tidy = await validator.lint(sample.good, language)
    assert (tidy.passed, tidy.findings) == (True, ())
    untidy = await validator.lint(sample.untidy, language)
    assert [one.level for one in untidy.findings] == [FindingLevel.WARNING]
    assert not untidy.passed
    assert untidy.findings[0].line in {1, 2}


@pytest.mark.parametrize("language", SAMPLES)
async def test_tests_that_never_end_are_a_finding(validator: SandboxValidator, language: str) -> None:
    endless = {
        "python": "def test_it():\n    while True:\n        pass\n",
        "typescript": "import { test } from 'node:test';\ntest('it', () => { for (;;) {} });\n",
        "rust": "#[test]\nfn it() { loop {} }\n",
    }
    quick = SandboxValidator(validator.sandbox, validator.limits.model_copy(update={"time_s": 1.5}))
    found = await quick.run_tests(endless[language], language)
    assert not found.passed
    assert "it took longer than its limit of time" in found.findings[0].text


@pytest.mark.requirement("SB06")
@pytest.mark.parametrize("language", ["typescript-vitest", "typescript-jest"])
async def test_other_runners_can_test_typescript(validator: SandboxValidator, language: str) -> None:
    package = "vitest" if language.endswith("vitest") else "@jest/globals"
    head = f"import {{ expect, test }} from '{package}';\n"
    tests = (
        f"{head}import {{ double }} from './main.ts';\n"
        "test('two', () => { expect(double(1)).toBe(2); });\n"
        "test('three', () => { expect(double(1)).toBe(3); });\n"
    )
    code = SAMPLES["typescript"].good
    assert (await validator.validate_code(code, language, tests)).compiles
    assert not (await validator.validate_code(code, language, tests.replace("(1)", "('')"))).compiles
    found = await validator.run_tests(code, language, tests)
    assert (found.passed, found.report.test_count, found.report.tests_failed) == (False, 2, 1)
    assert (found.findings[0].test, found.findings[0].line) == ("three", 4)
    assert "3" in found.findings[0].text
    only = await validator.run_tests(code, language, tests, "two")
    assert (only.passed, only.report.test_count) == (True, 1)
    assert not (await validator.run_tests(code, language, tests, "none of them")).passed
    within = await validator.run_tests(f"{head}{code}test('one', () => {{ double(1); }});\n", language)
    assert (within.passed, within.report.test_count) == (True, 1)


@pytest.mark.requirement("SB01")
async def test_a_sandbox_compiles_code_by_itself(validator: SandboxValidator) -> None:
    found = await validator.sandbox.compile("def double(x)\n    return 2 * x\n", "python")
    assert (found.compiles, found.compiler_errors) == (False, ("main.py:1:14 SyntaxError: expected ':'",))


async def test_names_and_aliases_find_a_language(validator: SandboxValidator) -> None:
    assert find_language("TS") is find_language("typescript")
    assert find_language(" py ").name == "python"
    with pytest.raises(
        UnknownLanguageError, match=r"'cobol' is not known \(known: python, rust, typescript,"
    ):
        await validator.validate_code("", "cobol")


async def test_a_forged_report_with_a_declaration_is_not_read(validator: SandboxValidator) -> None:
    forged = (
        "import os\n"
        "def test_it():\n"
        "    forged = '<!DOCTYPE a [<!ENTITY b \"c\">]><testsuites><testcase/></testsuites>'\n"
        "    open('report.xml', 'w').write(forged)\n"
        "    os._exit(0)\n"
    )
    found = await validator.run_tests(forged, "python")
    assert not found.passed


async def test_a_program_that_ends_as_if_the_tool_were_missing_is_a_finding(
    validator: SandboxValidator,
) -> None:
    found = await validator.run_tests("import os\nos._exit(127)\n", "python", SAMPLES["python"].tests)
    assert not found.passed
    assert "it ended with exit code 127" in found.feedback


async def test_a_sandbox_without_the_program_is_no_fault_of_the_code(validator: SandboxValidator) -> None:
    from agentic.core.sandbox import ProcessSandbox, SandboxTool, Toolbox

    empty = Toolbox({"ruff": SandboxTool})
    with pytest.raises(SandboxError, match="it has no program 'ruff'"):
        await SandboxValidator(ProcessSandbox(empty)).lint("x = 1\n", "python")

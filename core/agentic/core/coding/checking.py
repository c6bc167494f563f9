"""Checks code in a sandbox: compiles, tests and lints it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from agentic.core.coding.errors import CodingError
from agentic.core.coding.findings import CodeFinding, FindingLevel, cut, feedback_of
from agentic.core.coding.languages.language import CheckReport, CodeCheck, Language, TestsToRun
from agentic.core.coding.languages.registry import find_language
from agentic.core.records import record
from agentic.core.sandbox import Sandbox, SandboxLimits, SandboxResult, SandboxUnavailableError

LIMITS = SandboxLimits(time_s=60, memory_bytes=2 * 1024**3, process_count=256)
"""Enough for a compiler of one file."""
_NOT_FOUND = 127
_TAIL_CHARS = 1_000


@record(kw_only=True)
class CodeValidation:
    """The result of a check.

    Attributes:
        passed: Whether the tool accepted the code.
        findings: Its findings.
        feedback: Text for the model that wrote the code; empty if it passed.
        execution_time_ms: Time of the run.
        report: The report of the tool, with its counts.
    """

    passed: bool
    findings: tuple[CodeFinding, ...]
    feedback: str
    execution_time_ms: int
    report: CheckReport

    @property
    def compiles(self) -> bool:
        """Whether it passed: the check of a compiler."""
        return self.passed

    @property
    def compiler_errors(self) -> tuple[str, ...]:
        """The findings as texts."""
        return tuple(map(str, self.findings))


FITS = CodeValidation(passed=True, findings=(), feedback="", execution_time_ms=0, report=CheckReport())
"""The result of a check of code that has nothing to fit to."""
_NO_TESTS = CodeFinding(text="the tests are missing: write at least one")


class SandboxValidator:
    """Checks code in a sandbox. One serves any number of executors.

    Args:
        sandbox: The sandbox, with the tools of the languages: :func:`language_tools`.
        limits: Limits of each check.
        find: Finds a language by its name.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        limits: SandboxLimits = LIMITS,
        *,
        find: Callable[[str], Language] = find_language,
    ) -> None:
        self.sandbox = sandbox
        self.limits = limits
        self.find = find

    async def validate_code(self, code: str, language: str, tests: str = "") -> CodeValidation:
        """Compile code, and its tests if they are in a file of their own; nothing of it is run.

        Raises:
            UnknownLanguageError: The language is not known.
            SandboxError: The check could not run; that says nothing about the code.
        """
        found = self.find(language)
        return await self._checked(found, found.compile, code, tests, "The code does not compile")

    async def run_tests(
        self, code: str, language: str, tests: str = "", test_filter: str = ""
    ) -> CodeValidation:
        """Run the tests of code: in a file of their own, or in the code itself.

        Raises:
            UnknownLanguageError: The language is not known.
            SandboxError: The tests could not run.
        """
        found = self.find(language)
        check = found.test(TestsToRun(are_apart=bool(tests), name=test_filter))
        return await self._checked(found, check, code, tests, "The tests fail")

    async def check_coherence(self, code: str, language: str, tests: str) -> CodeValidation:
        """Check that code and tests that were made apart fit together, such as in their names.

        Nothing of them is run, so the code may be without its logic.

        Raises:
            UnknownLanguageError: The language is not known.
            SandboxError: The check could not run.
        """
        found = self.find(language)
        failed = "The code and the tests do not fit together"
        if not tests.strip():
            feedback = feedback_of(f"{failed}:", (_NO_TESTS,), {})
            return dataclasses.replace(FITS, passed=False, findings=(_NO_TESTS,), feedback=feedback)
        return await self._checked(found, found.coherence or found.compile, code, tests, failed)

    async def lint(self, code: str, language: str) -> CodeValidation:
        """Check the style of code.

        Raises:
            UnknownLanguageError: The language is not known.
            CodingError: The language has no linter.
            SandboxError: The linter could not run.
        """
        found = self.find(language)
        if found.lint is None:
            raise CodingError(f"the language {found.name!r} has no linter; leave this check out for it")
        return await self._checked(found, found.lint, code, "", "The linter has complaints", is_lint=True)

    async def _checked(
        self,
        language: Language,
        check: CodeCheck,
        code: str,
        tests: str,
        failed: str,
        *,
        is_lint: bool = False,
    ) -> CodeValidation:
        files = language.files_of(code, tests)
        result = await self._run(check, files)
        report = check.read(result)
        if result.exit_code == _NOT_FOUND and not report.is_whole and not report.findings:
            await self._require_tool(check, files)
        passed = (
            result.succeeded and report.is_whole and not (report.findings if is_lint else _blocking(report))
        )
        findings = report.findings if passed else report.findings or (_unexplained(result, report),)
        return CodeValidation(
            passed=passed,
            findings=findings,
            feedback="" if passed else feedback_of(f"{failed}{_counts(report)}:", findings, files),
            execution_time_ms=round(result.wall_s * 1000),
            report=report,
        )

    async def _run(self, check: CodeCheck, files: Mapping[str, str]) -> SandboxResult:
        return await self.sandbox.run(
            {**dict(check.files), **files},
            check.command,
            self.limits,
            tools=check.tools,
            keep=check.keep or ("",),
            environment=dict(check.environment),
        )

    async def _require_tool(self, check: CodeCheck, files: Mapping[str, str]) -> None:
        """Check empty files: code can end as a missing tool does, and nothing is in these."""
        empty = await self._run(check, dict.fromkeys(files, ""))
        if empty.exit_code == _NOT_FOUND:
            reason = f"it has no program {check.command[0]!r}: {empty.stderr.strip()[-200:]}"
            raise SandboxUnavailableError(self.sandbox.kind, reason)


def _blocking(report: CheckReport) -> bool:
    return any(one.level is FindingLevel.ERROR for one in report.findings) or report.tests_failed > 0


def _counts(report: CheckReport) -> str:
    return f" ({report.tests_failed} of {report.test_count})" if report.test_count else ""


def _unexplained(result: SandboxResult, report: CheckReport) -> CodeFinding:
    """Return the finding of a check without a report: the code ended the tool, or a limit did."""
    said = (result.stderr.strip() or result.stdout.strip())[-_TAIL_CHARS:]
    if report.is_whole or not result.succeeded:
        text = f"the check did not pass: {result.describe()}"
    else:
        text = "no test ran: write at least one"
    return CodeFinding(code=str(result.ended), text=cut(f"{text}\n{said}" if said else text))

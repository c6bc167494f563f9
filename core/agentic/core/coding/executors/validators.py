"""Validators of code, as nodes of a graph: a compiler, tests, a linter."""

from __future__ import annotations

from typing import Never

from agentic.core.coding.checking import FITS, CodeValidation, SandboxValidator
from agentic.core.coding.messages import (
    AnyCode,
    CodeToValidate,
    CodingMessage,
    CoherenceOutput,
    CompileInput,
    CompileOutput,
    LintOutput,
    TestInput,
    TestOutput,
)
from agentic.core.graph import Executor, ExecutorKind, RetryPolicy, WorkflowContext, handler
from agentic.core.sandbox import Sandbox
from agentic.core.types import JSONValue


class _CodeValidator(Executor):
    """A validator: sends its output, on which edges decide, and yields a line about it.

    Args:
        id: Of the node.
        validator: Checks code; or a sandbox, with the tools of the languages.
        tests: Tests in a file of their own, for code that comes without them: made independently of the code.
        yields_status: Whether it yields a line of text about each result.
        retry: How often a failing activation is tried; a finding is not a failure.
        timeout_s: Seconds one try may take.
    """

    def __init__(  # options of a node, all optional
        self,
        id: str,  # noqa: A002  # as of every executor
        validator: SandboxValidator | Sandbox,
        *,
        tests: str = "",
        yields_status: bool = True,
        retry: RetryPolicy | None = None,
        timeout_s: float | None = None,
    ) -> None:
        super().__init__(id, kind=ExecutorKind.VALIDATOR, retry=retry, timeout_s=timeout_s)
        self.validator = SandboxValidator(validator) if isinstance(validator, Sandbox) else validator
        self.tests = tests
        self.yields_status = yields_status

    async def _tell(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        if self.yields_status:
            await ctx.yield_output(text)


class CompileValidatorExecutor(_CodeValidator):
    """Compiles code in a sandbox; nothing of it is run. Sends :class:`CompileOutput`."""

    @handler
    async def on_input(self, given: CompileInput, ctx: WorkflowContext[Never, str]) -> CompileOutput:
        """Compile an input."""
        tests = given.tests or self.tests
        found = await self.validator.validate_code(given.code, given.language, tests)
        output = CompileOutput.model_validate(_facts(given, found))
        await self._tell(f"Compilation: {_verdict(found)}", ctx)
        return output

    @handler
    async def on_code(self, given: AnyCode, ctx: WorkflowContext[Never, str]) -> CompileOutput:
        """Compile code of another worker."""
        tests = getattr(given, "tests", "")
        return await self.on_input(CompileInput(code=given.code, language=given.language, tests=tests), ctx)

    @handler
    async def on_value(self, value: dict[str, JSONValue], ctx: WorkflowContext[Never, str]) -> CompileOutput:
        """Compile an input as a JSON value."""
        return await self.on_input(CompileInput.model_validate(value), ctx)


class TestValidatorExecutor(_CodeValidator):
    """Runs the tests of code in a sandbox. Sends :class:`TestOutput`; code without tests does not pass."""

    __test__ = False

    @handler
    async def on_input(self, given: TestInput, ctx: WorkflowContext[Never, str]) -> TestOutput:
        """Test an input."""
        tests = given.tests or self.tests
        found = await self.validator.run_tests(given.code, given.language, tests, given.test_filter or "")
        counts = found.report
        output = TestOutput.model_validate(
            {
                **_facts(given, found),
                "test_count": counts.test_count,
                "tests_passed": counts.tests_passed,
                "tests_failed": counts.tests_failed,
            }
        )
        await self._tell(f"Tests: {_verdict(found)} ({counts.tests_passed} of {counts.test_count})", ctx)
        return output

    @handler
    async def on_code(self, given: AnyCode, ctx: WorkflowContext[Never, str]) -> TestOutput:
        """Test code of another worker."""
        tests = getattr(given, "tests", "")
        return await self.on_input(TestInput(code=given.code, language=given.language, tests=tests), ctx)

    @handler
    async def on_value(self, value: dict[str, JSONValue], ctx: WorkflowContext[Never, str]) -> TestOutput:
        """Test an input as a JSON value."""
        return await self.on_input(TestInput.model_validate(value), ctx)


class CoherenceValidator(_CodeValidator):
    """Checks that code and tests that were made apart fit together. Sends :class:`CoherenceOutput`.

    Nothing is run, so the types or the signatures of a program are enough: the check finds tests that use
    names which the program does not have, before its logic is written. Code that comes alone has nothing to
    fit to, and passes unless it is empty. The predecessor called this the liaison architect.
    """

    @handler
    async def on_code(self, given: AnyCode, ctx: WorkflowContext[Never, str]) -> CoherenceOutput:
        """Check code with its tests, or tests with the program that they were written for."""
        found = await self._check(given)
        output = CoherenceOutput.model_validate(_facts(given, found))
        await self._tell(f"Coherence: {_verdict(found)}", ctx)
        return output

    @handler
    async def on_value(
        self, value: dict[str, JSONValue], ctx: WorkflowContext[Never, str]
    ) -> CoherenceOutput:
        """Check code as a JSON value."""
        return await self.on_code(CodeToValidate.model_validate(value), ctx)

    async def _check(self, given: AnyCode) -> CodeValidation:
        program = getattr(given, "program", "")
        tests = given.code if program else getattr(given, "tests", "") or self.tests
        if given.code.strip() and not program and not tests:
            return FITS
        return await self.validator.check_coherence(program or given.code, given.language, tests)


class LintValidator(_CodeValidator):
    """Checks the style of code in a sandbox. Sends :class:`LintOutput`."""

    @handler
    async def on_code(self, given: AnyCode, ctx: WorkflowContext[Never, str]) -> LintOutput:
        """Check code of another worker."""
        found = await self.validator.lint(given.code, given.language)
        output = LintOutput.model_validate(_facts(given, found))
        await self._tell(f"Lint: {_verdict(found)}", ctx)
        return output

    @handler
    async def on_value(self, value: dict[str, JSONValue], ctx: WorkflowContext[Never, str]) -> LintOutput:
        """Check code as a JSON value."""
        return await self.on_code(CodeToValidate.model_validate(value), ctx)


def _verdict(found: CodeValidation) -> str:
    return "PASSED" if found.passed else "FAILED"


def _facts(given: CodingMessage, found: CodeValidation) -> dict[str, object]:
    return {
        "code": getattr(given, "code", ""),
        "language": getattr(given, "language", ""),
        "tests": getattr(given, "tests", ""),
        "passed": found.passed,
        "errors": () if found.passed else found.compiler_errors,
        "feedback": found.feedback or None,
        "execution_time_ms": found.execution_time_ms,
        "findings": found.findings,
    }

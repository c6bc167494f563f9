"""The description of a programming language: how its code is compiled, tested and linted."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentic.core.coding.findings import CodeFinding
from agentic.core.records import record
from agentic.core.sandbox import SandboxResult, ToolFinder

Reader = Callable[[SandboxResult], "CheckReport"]
"""Reads the machine-readable output of a tool; never its prose."""


@record(kw_only=True)
class CheckReport:
    """The report of a tool about code.

    Attributes:
        findings: Its findings.
        test_count: Tests that ran or were skipped; 0 for other checks.
        tests_passed: Tests that passed.
        tests_failed: Tests that failed, or could not run.
        is_whole: Whether the report was found and read. Without one the check has failed.
    """

    findings: tuple[CodeFinding, ...] = ()
    test_count: int = 0
    tests_passed: int = 0
    tests_failed: int = 0
    is_whole: bool = True


def no_report(result: SandboxResult) -> CheckReport:  # noqa: ARG001  # as each reader
    """Read nothing: the output is the result."""
    return CheckReport()


@record(kw_only=True)
class CodeCheck:
    """One check of code: a command in a sandbox, and how its output is read.

    Attributes:
        command: The program and its arguments.
        read: Reads the result.
        tools: Names of the tools that it needs, in the order of its ``PATH``.
        files: Name -> text: files beside the code, such as a configuration.
        keep: Patterns of the files that it writes and that ``read`` needs.
        environment: Its variables.
    """

    command: tuple[str, ...]
    read: Reader
    tools: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    keep: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


@record(kw_only=True)
class TestsToRun:
    """The tests of a check.

    Attributes:
        are_apart: Whether they are in a file of their own; otherwise the code contains them.
        name: Only tests whose name contains this; empty for all.
    """

    __test__ = False

    are_apart: bool
    name: str = ""


@record(kw_only=True)
class Language:
    """A programming language.

    Attributes:
        name: Its name, in lower case.
        file: Name of the file with the code.
        test_file: Name of the file with tests, if they are apart from the code.
        comment: Begins a comment to the end of the line.
        compile: Checks code without running it.
        test: Returns the check that runs tests.
        lint: Checks the style; None without a linter.
        coherence: Checks that code and tests apart fit together, without running them; None if ``compile``
            compiles both.
        signatures: Beginnings of lines that declare something others use.
        run: Runs the code as a program; None if it cannot be one. Its ``read`` is not used.
        aliases: Other names.
        marks: Names that models write after the marks of a code block, besides these names.
        finders: Finds its tools on the machine of a sandbox.
        instructions: Facts for a model that writes code for these checks.
    """

    name: str
    file: str
    test_file: str
    comment: str
    compile: CodeCheck
    test: Callable[[TestsToRun], CodeCheck]
    lint: CodeCheck | None = None
    coherence: CodeCheck | None = None
    signatures: tuple[str, ...] = ()
    run: CodeCheck | None = None
    aliases: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    finders: tuple[tuple[str, ToolFinder], ...] = ()
    instructions: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and its aliases."""
        return (self.name, *self.aliases)

    def files_of(self, code: str, tests: str = "") -> Mapping[str, str]:
        """Return the files of a program."""
        return {self.file: code, **({self.test_file: tests} if tests else {})}

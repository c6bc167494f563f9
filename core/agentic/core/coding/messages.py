"""Messages between code workers. Each is also a JSON value, by ``to_value()``; workers take that, too."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.coding.findings import CodeFinding
from agentic.core.graph import RunResult
from agentic.core.types import JSONValue


class CodingMessage(BaseModel):
    """Base of all messages between code workers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def to_value(self) -> dict[str, JSONValue]:
        """Return it as a JSON value, without fields that have their default."""
        value: dict[str, JSONValue] = self.model_dump(mode="json", exclude_defaults=True)
        return value


class GenerationRequest(CodingMessage):
    """A task for a code generator."""

    __wire_name__ = "agentic.coding.GenerationRequest"

    task: str
    language: str


class LockedPart(CodingMessage):
    """A part of a program that was validated, and that later drafts must keep.

    Attributes:
        name: Of the part.
        code: Its code.
        keeps_bodies: Whether all of it must stay; otherwise the signatures must, and bodies may change.
    """

    __wire_name__ = "agentic.coding.LockedPart"

    name: str
    code: str
    keeps_bodies: bool = True


class GeneratorInput(CodingMessage):
    """A task for a code generator, with its context."""

    __wire_name__ = "agentic.coding.GeneratorInput"

    prompt: str
    language: str
    context: str | None = None
    previous_errors: tuple[str, ...] = ()
    tests: str = Field(default="", description="Tests made apart: validators get them, the model does not.")
    program: str = Field(default="", description="The program that the code to write is the tests of.")
    locked: tuple[LockedPart, ...] = Field(default=(), description="Parts that the code must keep.")

    @classmethod
    def new(cls, prompt: str, language: str) -> Self:
        """Return an input."""
        return cls(prompt=prompt, language=language)

    def with_tests(self, tests: str) -> Self:
        """Return it with tests in a file of their own."""
        return self.model_copy(update={"tests": tests})

    def with_context(self, context: str) -> Self:
        """Return it with context: facts, other code."""
        return self.model_copy(update={"context": context})

    def with_errors(self, errors: tuple[str, ...] | list[str]) -> Self:
        """Return it with errors of earlier attempts."""
        return self.model_copy(update={"previous_errors": tuple(errors)})


class GeneratedCode(CodingMessage):
    """Code of a model."""

    __wire_name__ = "agentic.coding.GeneratedCode"

    code: str
    language: str
    prompt: str = ""
    tokens_used: int = Field(default=0, ge=0)
    tests: str = Field(default="", description="The tests of its input.")
    program: str = Field(default="", description="The program of its input: the code is its tests.")
    locked: tuple[LockedPart, ...] = Field(default=(), description="The locked parts of its input.")


class CodeToValidate(CodingMessage):
    """Code to check, with its tests if they are apart from it."""

    __wire_name__ = "agentic.coding.CodeToValidate"

    code: str
    language: str
    tests: str = ""


class CompileInput(CodingMessage):
    """Code to compile."""

    __wire_name__ = "agentic.coding.CompileInput"

    code: str
    language: str
    task: str | None = None
    tests: str = Field(default="", description="Tests in a file of their own: they are compiled, too.")

    @classmethod
    def new(cls, code: str, language: str) -> Self:
        """Return an input."""
        return cls(code=code, language=language)

    def with_task(self, task: str) -> Self:
        """Return it with the task that the code is for."""
        return self.model_copy(update={"task": task})


class ValidatorOutput(CodingMessage):
    """The result of a validator. Edges decide by ``passed``.

    Attributes:
        code: The code.
        language: Its language.
        passed: Whether the tool accepted it.
        errors: The findings as texts; none if it passed.
        feedback: Text for the model that wrote the code.
        execution_time_ms: Time of the run in the sandbox.
        findings: The findings of the tool; warnings also if it passed.
        tests: The tests that came with the code, in a file of their own.
    """

    code: str
    language: str
    passed: bool
    errors: tuple[str, ...] = ()
    feedback: str | None = None
    execution_time_ms: int = 0
    findings: tuple[CodeFinding, ...] = ()
    tests: str = ""


class CompileOutput(ValidatorOutput):
    """The result of a compiler."""

    __wire_name__ = "agentic.coding.CompileOutput"


class TestInput(CodingMessage):
    """Code to test."""

    __test__ = False
    __wire_name__ = "agentic.coding.TestInput"

    code: str
    language: str
    test_filter: str | None = Field(default=None, description="Only tests whose name contains this.")
    task: str | None = None
    tests: str = Field(default="", description="Tests in a file of their own; otherwise the code has them.")

    @classmethod
    def new(cls, code: str, language: str) -> Self:
        """Return an input."""
        return cls(code=code, language=language)

    def with_filter(self, test_filter: str) -> Self:
        """Return it for some tests only."""
        return self.model_copy(update={"test_filter": test_filter})

    def with_task(self, task: str) -> Self:
        """Return it with the task that the code is for."""
        return self.model_copy(update={"task": task})

    def with_tests(self, tests: str) -> Self:
        """Return it with tests in a file of their own."""
        return self.model_copy(update={"tests": tests})


class TestOutput(ValidatorOutput):
    """The result of tests; the counts are the runner's own."""

    __test__ = False
    __wire_name__ = "agentic.coding.TestOutput"

    test_count: int = 0
    tests_passed: int = 0
    tests_failed: int = 0


class LintOutput(ValidatorOutput):
    """The result of a linter."""

    __wire_name__ = "agentic.coding.LintOutput"


class CoherenceOutput(ValidatorOutput):
    """Whether code and tests that were made apart fit together."""

    __wire_name__ = "agentic.coding.CoherenceOutput"


class LockOutput(ValidatorOutput):
    """Whether code keeps its locked parts."""

    __wire_name__ = "agentic.coding.LockOutput"


class ValidationResult(CodingMessage):
    """The verdict of any validator."""

    __wire_name__ = "agentic.coding.ValidationResult"

    passed: bool
    errors: tuple[str, ...] = ()
    feedback: str = ""

    @classmethod
    def of(cls, output: ValidatorOutput) -> Self:
        """Return the verdict of a validator's output."""
        return cls(passed=output.passed, errors=output.errors, feedback=output.feedback or "")


class CodePart(CodingMessage):
    """A part of a program."""

    __wire_name__ = "agentic.coding.CodePart"

    name: str
    code: str
    language: str
    section: str | None = None

    @classmethod
    def new(cls, name: str, code: str, language: str) -> Self:
        """Return a part."""
        return cls(name=name, code=code, language=language)

    def with_section(self, section: str) -> Self:
        """Return it under a heading."""
        return self.model_copy(update={"section": section})


class AssemblyInput(CodingMessage):
    """Parts of a program, in order."""

    __wire_name__ = "agentic.coding.AssemblyInput"

    parts: tuple[CodePart, ...] = ()
    language: str

    @classmethod
    def new(cls, language: str) -> Self:
        """Return an input without parts."""
        return cls(language=language)

    def add_part(self, part: CodePart) -> Self:
        """Return it with a further part."""
        return self.model_copy(update={"parts": (*self.parts, part)})


class AssembledCode(CodingMessage):
    """A program made of parts.

    ``compiles`` is None if the assembler has no validator; otherwise ``errors`` are the compiler's findings.
    """

    __wire_name__ = "agentic.coding.AssembledCode"

    code: str
    language: str
    part_count: int
    size_bytes: int
    compiles: bool | None = None
    errors: tuple[str, ...] = ()


AnyCode = GeneratedCode | AssembledCode | CodeToValidate | ValidatorOutput
"""A message with code. Validators take each of them, so that one can follow any other."""


class SubWorkflowInput(CodingMessage):
    """The input of a child workflow."""

    __wire_name__ = "agentic.coding.SubWorkflowInput"

    input: JSONValue
    task_id: str | None = None

    @classmethod
    def new(cls, value: JSONValue) -> Self:
        """Return an input."""
        return cls(input=value)

    def with_task_id(self, task_id: str) -> Self:
        """Return it for a task."""
        return self.model_copy(update={"task_id": task_id})


class SubWorkflowOutput(CodingMessage):
    """The result of a child workflow."""

    __wire_name__ = "agentic.coding.SubWorkflowOutput"

    outputs: tuple[JSONValue, ...] = ()
    superstep_count: int = 0
    duration_ms: int = 0
    success: bool
    error: str | None = None

    @classmethod
    def from_result(cls, result: RunResult) -> Self:
        """Return the result of a run. Outputs that are models are JSON values here."""
        return cls(
            outputs=tuple(as_value(output) for output in result.outputs),
            superstep_count=result.superstep_count,
            duration_ms=round(result.duration_s * 1000),
            success=result.is_success,
            error=None if result.error is None else str(result.error),
        )


class SubTaskRequest(CodingMessage):
    """A part of a larger task."""

    __wire_name__ = "agentic.coding.SubTaskRequest"

    task_id: str
    task: str
    language: str
    context: str | None = None


CodingTask = GeneratorInput | GenerationRequest | SubTaskRequest | dict[str, JSONValue]
"""A task for a worker that writes code; a JSON value has the fields of a :class:`GeneratorInput`."""


def input_of(task: CodingTask) -> GeneratorInput:
    """Return a task in the form that has room for all of it."""
    match task:
        case GeneratorInput():
            return task
        case GenerationRequest():
            return GeneratorInput(prompt=task.task, language=task.language)
        case SubTaskRequest():
            return GeneratorInput(prompt=task.task, language=task.language, context=task.context)
        case _:
            return GeneratorInput.model_validate(task)


class SubTaskResult(CodingMessage):
    """The result of a part of a larger task."""

    __wire_name__ = "agentic.coding.SubTaskResult"

    task_id: str
    outputs: tuple[JSONValue, ...] = ()
    passed: bool = True
    error: str | None = None


def as_value(value: object) -> Any:  # noqa: ANN401  # a JSON value
    """Return an output as a JSON value; any other value becomes its text."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, dict):
        return {str(key): as_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_value(inner) for inner in value]
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)

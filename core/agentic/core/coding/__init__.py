"""Code workers: they write, compile, test, lint and assemble programs, as nodes of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.coding.errors import (
        ChildFailedError,
        CodingError,
        MixedLanguagesError,
        NoCodeError,
        UnknownLanguageError,
    )
    from agentic.core.coding.executors.assembler import CodeAssemblerExecutor
    from agentic.core.coding.executors.generator import LLMGeneratorExecutor, code_in
    from agentic.core.coding.executors.runner import SandboxRun, SandboxRunner
    from agentic.core.coding.executors.subworkflow import SubWorkflowExecutor
    from agentic.core.coding.executors.validators import (
        CompileValidatorExecutor,
        LintValidator,
        TestValidatorExecutor,
    )
    from agentic.core.coding.findings import CodeFinding, FindingLevel, feedback_of
    from agentic.core.coding.fingerprints import CodeFingerprinter
    from agentic.core.coding.languages.junit import read_junit
    from agentic.core.coding.languages.language import CheckReport, CodeCheck, Language, TestsToRun
    from agentic.core.coding.languages.registry import find_language, language_tools
    from agentic.core.coding.messages import (
        AssembledCode,
        AssemblyInput,
        CodePart,
        CodeToValidate,
        CodingMessage,
        CompileInput,
        CompileOutput,
        GeneratedCode,
        GenerationRequest,
        GeneratorInput,
        LintOutput,
        SubTaskRequest,
        SubTaskResult,
        SubWorkflowInput,
        SubWorkflowOutput,
        TestInput,
        TestOutput,
        ValidationResult,
        ValidatorOutput,
    )
    from agentic.core.coding.validating import CodeValidation, SandboxValidator

_HOMES = {
    **dict.fromkeys(
        ("ChildFailedError", "CodingError", "MixedLanguagesError", "NoCodeError", "UnknownLanguageError"),
        "errors",
    ),
    **dict.fromkeys(("CodeFinding", "FindingLevel", "feedback_of"), "findings"),
    **dict.fromkeys(("CodeFingerprinter",), "fingerprints"),
    **dict.fromkeys(("CheckReport", "CodeCheck", "Language", "TestsToRun"), "languages.language"),
    **dict.fromkeys(("read_junit",), "languages.junit"),
    **dict.fromkeys(("find_language", "language_tools"), "languages.registry"),
    **dict.fromkeys(
        (
            "AssembledCode",
            "AssemblyInput",
            "CodePart",
            "CodeToValidate",
            "CodingMessage",
            "CompileInput",
            "CompileOutput",
            "GeneratedCode",
            "GenerationRequest",
            "GeneratorInput",
            "LintOutput",
            "SubTaskRequest",
            "SubTaskResult",
            "SubWorkflowInput",
            "SubWorkflowOutput",
            "TestInput",
            "TestOutput",
            "ValidationResult",
            "ValidatorOutput",
        ),
        "messages",
    ),
    **dict.fromkeys(("CodeValidation", "SandboxValidator"), "validating"),
    **dict.fromkeys(("LLMGeneratorExecutor", "code_in"), "executors.generator"),
    **dict.fromkeys(
        ("CompileValidatorExecutor", "LintValidator", "TestValidatorExecutor"), "executors.validators"
    ),
    **dict.fromkeys(("CodeAssemblerExecutor",), "executors.assembler"),
    **dict.fromkeys(("SubWorkflowExecutor",), "executors.subworkflow"),
    **dict.fromkeys(("SandboxRun", "SandboxRunner"), "executors.runner"),
}

__all__ = [
    "AssembledCode",
    "AssemblyInput",
    "CheckReport",
    "ChildFailedError",
    "CodeAssemblerExecutor",
    "CodeCheck",
    "CodeFinding",
    "CodeFingerprinter",
    "CodePart",
    "CodeToValidate",
    "CodeValidation",
    "CodingError",
    "CodingMessage",
    "CompileInput",
    "CompileOutput",
    "CompileValidatorExecutor",
    "FindingLevel",
    "GeneratedCode",
    "GenerationRequest",
    "GeneratorInput",
    "LLMGeneratorExecutor",
    "Language",
    "LintOutput",
    "LintValidator",
    "MixedLanguagesError",
    "NoCodeError",
    "SandboxRun",
    "SandboxRunner",
    "SandboxValidator",
    "SubTaskRequest",
    "SubTaskResult",
    "SubWorkflowExecutor",
    "SubWorkflowInput",
    "SubWorkflowOutput",
    "TestInput",
    "TestOutput",
    "TestValidatorExecutor",
    "TestsToRun",
    "UnknownLanguageError",
    "ValidationResult",
    "ValidatorOutput",
    "code_in",
    "feedback_of",
    "find_language",
    "language_tools",
    "read_junit",
]


def __getattr__(name: str) -> object:
    # Loaded at the first use of a name.
    return loaded(__name__, _HOMES, name)

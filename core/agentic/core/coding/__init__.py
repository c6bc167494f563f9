"""Code workers: they write, compile, test, lint and assemble programs, as nodes of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.coding.checking import CodeValidation, SandboxValidator
    from agentic.core.coding.errors import (
        BadPlanError,
        ChildFailedError,
        CodingError,
        MixedLanguagesError,
        NeedsGraphError,
        NoCandidateError,
        NoCodeError,
        NoRollbackPointError,
        UnknownLanguageError,
        WrongResultError,
    )
    from agentic.core.coding.executors.assembler import CodeAssemblerExecutor
    from agentic.core.coding.executors.generator import LLMGeneratorExecutor, code_in
    from agentic.core.coding.executors.runner import SandboxRun, SandboxRunner
    from agentic.core.coding.executors.subworkflow import SubWorkflowExecutor
    from agentic.core.coding.executors.validators import (
        CoherenceValidator,
        CompileValidatorExecutor,
        LintValidator,
        TestValidatorExecutor,
    )
    from agentic.core.coding.findings import CodeFinding, FindingLevel, feedback_of
    from agentic.core.coding.fingerprints import CodeFingerprinter
    from agentic.core.coding.interpreter import CodeInterpreter
    from agentic.core.coding.languages.jest import read_jest
    from agentic.core.coding.languages.junit import read_junit
    from agentic.core.coding.languages.language import CheckReport, CodeCheck, Language, TestsToRun
    from agentic.core.coding.languages.registry import find_language, language_tools
    from agentic.core.coding.messages import (
        AnyCode,
        AssembledCode,
        AssemblyInput,
        CodePart,
        CodeToValidate,
        CodingMessage,
        CoherenceOutput,
        CompileInput,
        CompileOutput,
        GeneratedCode,
        GenerationRequest,
        GeneratorInput,
        LintOutput,
        LockedPart,
        LockOutput,
        SubTaskRequest,
        SubTaskResult,
        SubWorkflowInput,
        SubWorkflowOutput,
        TestInput,
        TestOutput,
        ValidationResult,
        ValidatorOutput,
    )
    from agentic.core.coding.planning.decomposer import TaskDecomposer
    from agentic.core.coding.planning.locking import LockValidator
    from agentic.core.coding.planning.plan import CodePlan, CodeTask, CodeTaskKind, usual_plan
    from agentic.core.coding.planning.progressive import (
        ProgressiveResult,
        ProgressiveWriter,
        StageResult,
    )
    from agentic.core.coding.repairing.engine import RepairEngine, RepairPick
    from agentic.core.coding.repairing.judging import RepairEnd, RepairResult, RepairVerdict
    from agentic.core.coding.repairing.lessons import KvLessons, Lesson, LessonStore, lesson_bucket
    from agentic.core.coding.validation.arbiter import Arbiter, best_of
    from agentic.core.coding.validation.incremental import (
        IncrementalPipeline,
        IncrementalResult,
        PartResult,
    )
    from agentic.core.coding.validation.pipeline import ValidatorPipeline
    from agentic.core.coding.validation.report import ValidationMode, ValidationReport, ValidatorVerdict
    from agentic.core.coding.validation.rollback import RollbackManager
    from agentic.core.coding.validation.supervisor import SupervisedResult, Supervisor

_HOMES = {
    **dict.fromkeys(
        (
            "BadPlanError",
            "ChildFailedError",
            "CodingError",
            "MixedLanguagesError",
            "NeedsGraphError",
            "NoCandidateError",
            "NoCodeError",
            "NoRollbackPointError",
            "UnknownLanguageError",
            "WrongResultError",
        ),
        "errors",
    ),
    **dict.fromkeys(("CodeFinding", "FindingLevel", "feedback_of"), "findings"),
    **dict.fromkeys(("CodeFingerprinter",), "fingerprints"),
    **dict.fromkeys(("CodeInterpreter",), "interpreter"),
    **dict.fromkeys(("CheckReport", "CodeCheck", "Language", "TestsToRun"), "languages.language"),
    **dict.fromkeys(("read_jest",), "languages.jest"),
    **dict.fromkeys(("read_junit",), "languages.junit"),
    **dict.fromkeys(("find_language", "language_tools"), "languages.registry"),
    **dict.fromkeys(
        (
            "AnyCode",
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
            "CoherenceOutput",
            "LintOutput",
            "LockedPart",
            "LockOutput",
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
    **dict.fromkeys(("CodeValidation", "SandboxValidator"), "checking"),
    **dict.fromkeys(("Arbiter", "best_of"), "validation.arbiter"),
    **dict.fromkeys(("IncrementalPipeline", "IncrementalResult", "PartResult"), "validation.incremental"),
    **dict.fromkeys(("ValidatorPipeline",), "validation.pipeline"),
    **dict.fromkeys(("ValidationMode", "ValidationReport", "ValidatorVerdict"), "validation.report"),
    **dict.fromkeys(("RollbackManager",), "validation.rollback"),
    **dict.fromkeys(("SupervisedResult", "Supervisor"), "validation.supervisor"),
    **dict.fromkeys(("LLMGeneratorExecutor", "code_in"), "executors.generator"),
    **dict.fromkeys(
        ("CoherenceValidator", "CompileValidatorExecutor", "LintValidator", "TestValidatorExecutor"),
        "executors.validators",
    ),
    **dict.fromkeys(("CodeAssemblerExecutor",), "executors.assembler"),
    **dict.fromkeys(("SubWorkflowExecutor",), "executors.subworkflow"),
    **dict.fromkeys(("SandboxRun", "SandboxRunner"), "executors.runner"),
    **dict.fromkeys(("TaskDecomposer",), "planning.decomposer"),
    **dict.fromkeys(("LockValidator",), "planning.locking"),
    **dict.fromkeys(("CodePlan", "CodeTask", "CodeTaskKind", "usual_plan"), "planning.plan"),
    **dict.fromkeys(("ProgressiveResult", "ProgressiveWriter", "StageResult"), "planning.progressive"),
    **dict.fromkeys(("RepairEngine", "RepairPick"), "repairing.engine"),
    **dict.fromkeys(("RepairEnd", "RepairResult", "RepairVerdict"), "repairing.judging"),
    **dict.fromkeys(("KvLessons", "Lesson", "LessonStore", "lesson_bucket"), "repairing.lessons"),
}

__all__ = [
    "AnyCode",
    "Arbiter",
    "AssembledCode",
    "AssemblyInput",
    "BadPlanError",
    "CheckReport",
    "ChildFailedError",
    "CodeAssemblerExecutor",
    "CodeCheck",
    "CodeFinding",
    "CodeFingerprinter",
    "CodeInterpreter",
    "CodePart",
    "CodePlan",
    "CodeTask",
    "CodeTaskKind",
    "CodeToValidate",
    "CodeValidation",
    "CodingError",
    "CodingMessage",
    "CoherenceOutput",
    "CoherenceValidator",
    "CompileInput",
    "CompileOutput",
    "CompileValidatorExecutor",
    "FindingLevel",
    "GeneratedCode",
    "GenerationRequest",
    "GeneratorInput",
    "IncrementalPipeline",
    "IncrementalResult",
    "KvLessons",
    "LLMGeneratorExecutor",
    "Language",
    "Lesson",
    "LessonStore",
    "LintOutput",
    "LintValidator",
    "LockOutput",
    "LockValidator",
    "LockedPart",
    "MixedLanguagesError",
    "NeedsGraphError",
    "NoCandidateError",
    "NoCodeError",
    "NoRollbackPointError",
    "PartResult",
    "ProgressiveResult",
    "ProgressiveWriter",
    "RepairEnd",
    "RepairEngine",
    "RepairPick",
    "RepairResult",
    "RepairVerdict",
    "RollbackManager",
    "SandboxRun",
    "SandboxRunner",
    "SandboxValidator",
    "StageResult",
    "SubTaskRequest",
    "SubTaskResult",
    "SubWorkflowExecutor",
    "SubWorkflowInput",
    "SubWorkflowOutput",
    "SupervisedResult",
    "Supervisor",
    "TaskDecomposer",
    "TestInput",
    "TestOutput",
    "TestValidatorExecutor",
    "TestsToRun",
    "UnknownLanguageError",
    "ValidationMode",
    "ValidationReport",
    "ValidationResult",
    "ValidatorOutput",
    "ValidatorPipeline",
    "ValidatorVerdict",
    "WrongResultError",
    "best_of",
    "code_in",
    "feedback_of",
    "find_language",
    "language_tools",
    "lesson_bucket",
    "read_jest",
    "read_junit",
    "usual_plan",
]


def __getattr__(name: str) -> object:
    # Loaded at the first use of a name.
    return loaded(__name__, _HOMES, name)

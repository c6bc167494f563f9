"""Code workers without a sandbox: writers with a script, and validators that look for words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Never

from agentic.core.coding import (
    AnyCode,
    CodeFinding,
    CodeToValidate,
    LLMGeneratorExecutor,
    TestOutput,
    ValidatorPipeline,
)
from agentic.core.graph import Executor, ExecutorKind, WorkflowContext, handler
from agentic.core.llm import ScriptedModel


class NeedsWord(Executor):
    """Passes code that contains a word; its tests are the words in the code."""

    def __init__(self, id: str, word: str) -> None:
        super().__init__(id, kind=ExecutorKind.VALIDATOR)
        self.word = word
        self.seen: list[str] = []

    @handler
    async def on_code(self, given: AnyCode, ctx: WorkflowContext[Never, str]) -> TestOutput:
        self.seen.append(given.code)
        passed = self.word in given.code
        await ctx.yield_output(f"{self.id}: {passed}")
        findings = () if passed else (CodeFinding(text=f"no {self.word}"),)
        return TestOutput(
            code=given.code,
            language=given.language,
            passed=passed,
            errors=tuple(map(str, findings)),
            findings=findings,
            feedback=None if passed else f"Write {self.word}.",
            execution_time_ms=2,
            test_count=3,
            tests_passed=len(given.code.split()),
        )


def writer(id: str, replies: Sequence[str | Exception]) -> LLMGeneratorExecutor:
    return LLMGeneratorExecutor(id, ScriptedModel(list(replies)))


def words(*needed: str) -> ValidatorPipeline:
    return ValidatorPipeline([NeedsWord(f"has_{word}", word) for word in needed])


def code(text: str) -> CodeToValidate:
    return CodeToValidate(code=text, language="python")

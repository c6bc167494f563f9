"""A check for tests of loops: it looks for words."""

from __future__ import annotations

from agentic.core.coding import CodeFinding, CompileOutput, GeneratedCode, ValidatorOutput
from agentic.core.graph import Executor, ExecutorKind, handler
from agentic.core.llm import ScriptedModel


class Words(Executor):
    """A draft passes if it has all words. Each word that is missing is a finding in line 1."""

    def __init__(self, id: str, *words: str) -> None:
        super().__init__(id, kind=ExecutorKind.VALIDATOR)
        self.words = words

    @handler
    async def on_code(self, given: GeneratedCode | ValidatorOutput) -> CompileOutput:
        missing = [word for word in self.words if word not in given.code]
        findings = tuple(CodeFinding(code="W1", line=1, text=f"no word {word}") for word in missing)
        return CompileOutput(
            code=given.code,
            language=given.language,
            passed=not missing,
            errors=tuple(map(str, findings)),
            feedback="Words are missing." if missing else None,
            findings=findings,
            tests=given.tests,
        )


def drafts(*texts: str) -> ScriptedModel:
    """Return a model that writes these programs, one after the other."""
    return ScriptedModel([f"```python\n{text}\n```" for text in texts])

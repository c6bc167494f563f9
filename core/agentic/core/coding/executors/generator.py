"""A model that writes code, as a node of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Never

from agentic.core.coding.errors import NoCodeError
from agentic.core.coding.languages.registry import find_language
from agentic.core.coding.messages import (
    GeneratedCode,
    GenerationRequest,
    GeneratorInput,
    SubTaskRequest,
)
from agentic.core.graph import Executor, ExecutorKind, FailedAttempt, RetryPolicy, WorkflowContext, handler
from agentic.core.llm import LLMAdapter, ModelRequest
from agentic.core.llm.messages import as_messages
from agentic.core.types import JSONValue

SYSTEM_PROMPT = (
    "You write programs. Reply with the whole program in one code block: leave nothing out, and abbreviate "
    "nothing."
)
_REPLY = "agentic.coding.reply"
MAX_ERRORS_CHARS = 20_000
"""Characters of earlier errors in a prompt; the newest come last, and the oldest are left out."""


class LLMGeneratorExecutor(Executor):
    """Writes code by a model: from a task, its context, and the errors of earlier attempts.

    Errors come with the input, and over retry edges from validators. The reply of the model is stored at once
    (``ctx.once``): a worker that dies does not ask again. Sends :class:`GeneratedCode`, and yields a line of
    text.

    Args:
        id: Of the node.
        model: The model.
        system_prompt: Its instructions; facts about the language are added.
        yields_status: Whether it yields a line of text about each result.
        retry: How often a failing activation is tried.
        timeout_s: Seconds one try may take.
    """

    def __init__(  # options of a node, all optional
        self,
        id: str,  # noqa: A002  # as of every executor
        model: LLMAdapter,
        *,
        system_prompt: str = SYSTEM_PROMPT,
        yields_status: bool = True,
        retry: RetryPolicy | None = None,
        timeout_s: float | None = None,
    ) -> None:
        super().__init__(id, kind=ExecutorKind.WORKER, retry=retry, timeout_s=timeout_s)
        self.model = model
        self.system_prompt = system_prompt
        self.yields_status = yields_status

    @handler
    async def on_input(self, given: GeneratorInput, ctx: WorkflowContext[Never, str]) -> GeneratedCode:
        """Write code for an input."""
        language = find_language(given.language)
        prompt = "\n\n".join(_parts(given, list(_errors(given, ctx))))
        instructions = f"{self.system_prompt}\n\n{language.instructions}"
        reply = await ctx.once(_REPLY, lambda: self._ask(instructions, prompt))
        text, tokens = str(reply["text"]), int(str(reply["tokens"]))
        code = code_in(text, language.names)
        if not code.strip():
            raise NoCodeError(self.id, text)
        if self.yields_status:
            await ctx.yield_output(f"Generated {len(code.encode())} bytes of {language.name}")
        return GeneratedCode(code=code, language=language.name, prompt=given.prompt, tokens_used=tokens)

    @handler
    async def on_request(self, request: GenerationRequest, ctx: WorkflowContext[Never, str]) -> GeneratedCode:
        """Write code for a task."""
        return await self.on_input(GeneratorInput(prompt=request.task, language=request.language), ctx)

    @handler
    async def on_sub_task(self, request: SubTaskRequest, ctx: WorkflowContext[Never, str]) -> GeneratedCode:
        """Write code for a part of a task."""
        given = GeneratorInput(prompt=request.task, language=request.language, context=request.context)
        return await self.on_input(given, ctx)

    @handler
    async def on_value(self, value: dict[str, JSONValue], ctx: WorkflowContext[Never, str]) -> GeneratedCode:
        """Write code for an input as a JSON value."""
        return await self.on_input(GeneratorInput.model_validate(value), ctx)

    async def _ask(self, instructions: str, prompt: str) -> dict[str, JSONValue]:
        request = ModelRequest(instructions=instructions, messages=as_messages(prompt))
        reply = await self.model.complete(request)
        usage = reply.usage
        return {"text": reply.text, "tokens": usage.input_tokens + usage.output_tokens}


def code_in(text: str, names: tuple[str, ...] = ()) -> str:
    """Return the code in a reply: of its blocks in the language, else of all blocks; else the text itself.

    Args:
        text: The reply.
        names: Names of the language after the marks of a block.
    """
    blocks = list(_blocks(text))
    chosen = [code for name, code in blocks if name in names] or [code for _, code in blocks]
    return "\n".join(chosen) if blocks else text


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    lines: list[str] = []
    mark, name = "", ""
    for line in text.split("\n"):
        stripped = line.strip()
        if not mark and stripped.startswith("```"):
            mark = stripped[: len(stripped) - len(stripped.lstrip("`"))]
            name = stripped[len(mark) :].strip().partition(" ")[0].lower()
        elif mark and stripped == mark:
            yield name, "\n".join([*lines, ""])
            lines, mark = [], ""
        elif mark:
            lines.append(line)
    if mark and lines:  # the reply was cut
        yield name, "\n".join([*lines, ""])


def _parts(given: GeneratorInput, errors: list[str]) -> Iterator[str]:
    yield given.prompt
    if given.context:
        yield f"Context:\n{given.context}"
    if errors:
        yield "Earlier attempts failed. Write the whole program again, without these errors:"
        yield _newest(errors)


def _newest(errors: list[str]) -> str:
    kept: list[str] = []
    for number in range(len(errors), 0, -1):
        kept.insert(0, f"Attempt {number}:\n{errors[number - 1]}")
        if sum(map(len, kept)) > MAX_ERRORS_CHARS:
            break
    return "\n\n".join(kept)[-2 * MAX_ERRORS_CHARS :]


def _errors(given: GeneratorInput, ctx: WorkflowContext[Never, str]) -> Iterator[str]:
    yield from given.previous_errors
    for error in ctx.previous_errors:
        feedback = getattr(error, "feedback", None)
        if isinstance(feedback, str) and feedback:
            yield feedback
        elif isinstance(error, FailedAttempt):
            yield f"{error.error_type}: {error.message}"
        elif listed := getattr(error, "errors", None):
            yield "\n".join(map(str, listed))
        elif not isinstance(error, FailedAttempt):
            yield str(error)

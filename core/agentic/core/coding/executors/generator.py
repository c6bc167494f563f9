"""A model that writes code, as a node of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Never

from agentic.core.coding.errors import NoCodeError
from agentic.core.coding.languages.registry import find_language
from agentic.core.coding.messages import CodingTask, GeneratedCode, GeneratorInput, input_of
from agentic.core.graph import Executor, ExecutorKind, FailedAttempt, RetryPolicy, WorkflowContext, handler
from agentic.core.llm import ChatMessage, LLMAdapter, ModelRequest
from agentic.core.types import JSONValue

SYSTEM_PROMPT = (
    "You write programs. Reply with the whole program in one code block: leave nothing out, and abbreviate "
    "nothing."
)
_REPLY = "agentic.coding.reply"
ERRORS_META = "agentic.coding.errors"
"""A fact of the application in the message to the model: the errors of all earlier attempts, oldest first."""
MAX_DRAFT_CHARS = 100_000
"""A longer draft is not shown to the model again."""
MAX_ERRORS_CHARS = 20_000
"""Characters of earlier errors in a prompt; the newest come last, and the oldest are left out."""


class LLMGeneratorExecutor(Executor):
    """Writes code by a model: from a task, its context, and the errors of earlier attempts.

    Code of another generator is context: both get the same prompt, and each has instructions of its own.
    Errors come with the input, and over retry edges from validators; then the model also sees its last draft.
    The reply of the model is stored at once (``ctx.once``): a worker that dies does not ask again. Sends
    :class:`GeneratedCode`, and yields a line of text.

    Args:
        id: Of the node.
        model: The model.
        system_prompt: Its instructions; facts about the language are added.
        yields_status: Whether it yields a line of text about each result.
        retry: How often a failing activation is tried.
        timeout_s: Seconds one try may take.
    """

    takes_empty: ClassVar[bool] = False
    """Whether a reply without code is an empty program, which validators refuse; otherwise the node fails."""

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
    async def on_task(self, task: CodingTask, ctx: WorkflowContext[Never, str]) -> GeneratedCode:
        """Write code for a task."""
        given = input_of(task)
        language = find_language(given.language)
        found = [*given.previous_errors, *(one for one in ctx.previous_errors if not _is_failed_try(one))]
        errors = [*map(_feedback, found), *_failed_tries(ctx)]
        advice = await self.advice(language.name, listed(found[-1]) if found else "", ctx)
        prompt = "\n\n".join(_parts(given, advice, errors, _last_draft(ctx), language.name))
        request = ModelRequest(
            instructions=f"{self.system_prompt}\n\n{language.instructions}",
            messages=(_message(prompt, [listed(one) for one in found]),),
        )
        reply = await ctx.once(_REPLY, lambda: self._ask(request))
        text, tokens = str(reply["text"]), int(str(reply["tokens"]))
        code = code_in(text, (*language.names, *language.marks))
        if not code.strip() and not self.takes_empty:
            raise NoCodeError(self.id, text)
        if self.yields_status:
            await ctx.yield_output(f"Generated {len(code.encode())} bytes of {language.name}")
        return GeneratedCode(
            code=code,
            language=language.name,
            prompt=given.prompt,
            tokens_used=tokens,
            tests=given.tests,
            program=given.program,
            locked=given.locked,
        )

    @handler
    async def on_code(self, made: GeneratedCode, ctx: WorkflowContext[Never, str]) -> GeneratedCode:
        """Write code for the same prompt as another generator, with its code as context."""
        given = GeneratorInput(
            prompt=made.prompt, language=made.language, context=made.code, tests=made.tests
        )
        return await self.on_task(given, ctx)

    async def advice(self, language: str, errors: str, ctx: WorkflowContext[Never, str]) -> str:  # noqa: ARG002
        """Return text to add to a prompt; nothing here, subclasses may know something.

        Args:
            language: Name of the language.
            errors: The errors of the last draft, one a line; empty for a first draft.
            ctx: Of the activation.
        """
        return ""

    async def _ask(self, request: ModelRequest) -> dict[str, JSONValue]:
        reply = await self.model.complete(request)
        usage = reply.usage
        # No file and no store takes half of a surrogate pair; as an escape it is a text, or a finding.
        text = reply.text.encode("utf-8", "backslashreplace").decode()
        return {"text": text, "tokens": usage.input_tokens + usage.output_tokens}


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


def _parts(given: GeneratorInput, advice: str, errors: list[str], draft: str, language: str) -> Iterator[str]:
    yield given.prompt
    if given.context:
        yield f"Context:\n{given.context}"
    if given.program:
        yield f"The program, perhaps without its logic:\n{fenced(given.program, language)}"
    for part in given.locked:
        kept = "It is part of the program as it is" if part.keeps_bodies else "Keep its signatures"
        yield f"{part.name} is done. {kept}:\n{fenced(part.code, language)}"
    if advice:
        yield advice
    if errors:
        yield "Earlier attempts failed. Write the whole program again, without these errors:"
        yield _newest(errors)
    if draft:
        yield f"The last attempt:\n{fenced(draft, language)}"


def fenced(code: str, language: str) -> str:
    """Return code as a block, with marks that it does not contain."""
    marks = "```"
    while marks in code:
        marks += "`"
    return f"{marks}{language}\n{code.strip()}\n{marks}"


def _last_draft(ctx: WorkflowContext[Never, str]) -> str:
    """Return the code that the newest errors are about, if it is not too long for a prompt."""
    drafts = [code for error in ctx.previous_errors if isinstance(code := getattr(error, "code", None), str)]
    return drafts[-1] if drafts and len(drafts[-1]) <= MAX_DRAFT_CHARS else ""


def _newest(errors: list[str]) -> str:
    kept: list[str] = []
    for number in range(len(errors), 0, -1):
        kept.insert(0, f"Attempt {number}:\n{errors[number - 1]}")
        if sum(map(len, kept)) > MAX_ERRORS_CHARS:
            break
    return "\n\n".join(kept)[-2 * MAX_ERRORS_CHARS :]


def _message(prompt: str, errors: Sequence[str]) -> ChatMessage:
    return ChatMessage.user(prompt).model_copy(update={"meta": {ERRORS_META: [*errors]}})


def listed(error: object) -> str:
    """Return the errors in the message of a validator, one a line, for fingerprints."""
    texts: Sequence[object] = getattr(error, "errors", None) or ()
    return "\n".join(f"- {text}".split("\n", maxsplit=1)[0] for text in texts) or _feedback(error)


def _feedback(error: object) -> str:
    """Return the message of a validator as text for a model."""
    feedback = getattr(error, "feedback", None)
    if isinstance(feedback, str) and feedback:
        return feedback
    return "\n".join(map(str, getattr(error, "errors", None) or ())) or str(error)


def _failed_tries(ctx: WorkflowContext[Never, str]) -> Iterator[str]:
    """Yield the errors of tries that made no draft."""
    for error in ctx.previous_errors:
        if isinstance(error, FailedAttempt):
            yield f"{error.error_type}: {error.message}"


def _is_failed_try(error: object) -> bool:
    return isinstance(error, FailedAttempt)

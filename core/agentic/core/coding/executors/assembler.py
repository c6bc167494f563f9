"""Makes one program of parts, as a node of a graph."""

from __future__ import annotations

from typing import Never

from agentic.core.coding.checking import SandboxValidator
from agentic.core.coding.errors import MixedLanguagesError
from agentic.core.coding.languages.registry import find_language
from agentic.core.coding.messages import AssembledCode, AssemblyInput, CodePart, GeneratedCode
from agentic.core.graph import Executor, ExecutorKind, WorkflowContext, handler
from agentic.core.types import JSONValue


class CodeAssemblerExecutor(Executor):
    """Puts parts together, in order, each under its heading. Sends :class:`AssembledCode`, yields the code.

    Args:
        id: Of the node.
        validator: Compiles the program; the message shows the result. Not compiled if omitted.
        yields_code: Whether it yields the text of the program.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  # as of every executor
        *,
        validator: SandboxValidator | None = None,
        yields_code: bool = True,
    ) -> None:
        super().__init__(id, kind=ExecutorKind.WORKER)
        self.validator = validator
        self.yields_code = yields_code

    @handler
    async def on_input(self, given: AssemblyInput, ctx: WorkflowContext[Never, str]) -> AssembledCode:
        """Assemble an input."""
        code = assemble(given)
        compiles: bool | None = None
        errors: tuple[str, ...] = ()
        if self.validator is not None:
            found = await self.validator.validate_code(code, given.language)
            compiles, errors = found.compiles, () if found.compiles else found.compiler_errors
        made = AssembledCode(
            code=code,
            language=given.language,
            part_count=len(given.parts),
            size_bytes=len(code.encode()),
            compiles=compiles,
            errors=errors,
        )
        if self.yields_code:
            await ctx.yield_output(code)
        return made

    @handler
    async def on_parts(self, parts: list[CodePart], ctx: WorkflowContext[Never, str]) -> AssembledCode:
        """Assemble the parts of a fan-in."""
        return await self.on_input(AssemblyInput(parts=tuple(parts), language=_language_of(parts)), ctx)

    @handler
    async def on_generated(
        self, parts: list[GeneratedCode], ctx: WorkflowContext[Never, str]
    ) -> AssembledCode:
        """Assemble the code of several generators, from a fan-in."""
        made = [
            CodePart(name=f"part {number}", code=part.code, language=part.language)
            for number, part in enumerate(parts, 1)
        ]
        return await self.on_parts(made, ctx)

    @handler
    async def on_value(self, value: dict[str, JSONValue], ctx: WorkflowContext[Never, str]) -> AssembledCode:
        """Assemble an input as a JSON value."""
        return await self.on_input(AssemblyInput.model_validate(value), ctx)


def assemble(given: AssemblyInput) -> str:
    """Return the program.

    Raises:
        MixedLanguagesError: A part is of another language.
        UnknownLanguageError: The language is not known.
    """
    language = find_language(given.language)
    sections = []
    for part in given.parts:
        if part.language.strip().lower() not in language.names:
            raise MixedLanguagesError(language.name, part.name, part.language)
        heading = f"{language.comment} {' '.join(part.section.split())}\n" if part.section else ""
        sections.append(f"{heading}{part.code.strip()}\n")
    return "\n".join(sections)


def _language_of(parts: list[CodePart]) -> str:
    return parts[0].language if parts else "python"

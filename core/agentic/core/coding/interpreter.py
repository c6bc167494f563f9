"""A tool that runs code: agents compute with programs that they write."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.agents.errors import ToolArgumentsError
from agentic.core.agents.tools.tool import Approval, Tool, ToolContext
from agentic.core.coding.errors import CodingError
from agentic.core.coding.languages.registry import find_language
from agentic.core.sandbox import Sandbox, SandboxFileError, SandboxLimits
from agentic.core.types import JSONValue

MAX_OUTPUT_CHARS = 20_000
"""Characters of an output that a model reads; of a longer one it reads the end."""
LIMITS = SandboxLimits(time_s=30)


class CodeInterpreter(Tool):
    """Runs a program in a sandbox, for an agent that writes it; its result is the program's output.

    Each call is a program of its own: nothing of an earlier call is left. The program has no network and sees
    nothing of this machine; see :class:`~agentic.core.sandbox.Sandbox`.

    Args:
        sandbox: With the tools of the language: :func:`language_tools`.
        language: Of the programs.
        name: Of the tool.
        limits: Of each program.
        approval: Whether a person must approve a call.

    Raises:
        UnknownLanguageError: The language is not known.
        CodingError: Its programs cannot be run.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        language: str = "python",
        *,
        name: str = "run_code",
        limits: SandboxLimits = LIMITS,
        approval: Approval = "never",
    ) -> None:
        found = find_language(language)
        if found.run is None:
            raise CodingError(f"programs in {found.name!r} cannot be run by a tool; use another language")
        self.sandbox = sandbox
        self.language = found
        self.limits = limits
        self._run = found.run
        description = (
            f"Run a program in {found.name} and return its output. Print all that you want to know. "
            f"The program has no network, {limits.time_s:g} seconds, and nothing of earlier calls."
        )
        code: dict[str, JSONValue] = {"type": "string", "description": "The whole program."}
        super().__init__(
            name,
            description,
            {
                "type": "object",
                "properties": {"code": code},
                "required": ["code"],
                "additionalProperties": False,
            },
            approval=approval,
        )

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue:  # noqa: ARG002
        """Run a program; see :class:`~agentic.core.agents.Tool`.

        Raises:
            SandboxError: The program could not be run.
        """
        code = arguments.get("code")
        if not isinstance(code, str) or len(arguments) > 1:
            raise ToolArgumentsError(f"{self.name} takes one text, 'code', and nothing else")
        try:
            result = await self.sandbox.run(
                {**dict(self._run.files), self.language.file: code},
                self._run.command,
                self.limits,
                tools=self._run.tools,
                keep=("",),
                environment=dict(self._run.environment),
            )
        except SandboxFileError as exc:
            raise ToolArgumentsError(str(exc)) from exc
        output: dict[str, JSONValue] = {"stdout": _end_of(result.stdout), "stderr": _end_of(result.stderr)}
        return {"result": result.describe(), **{name: text for name, text in output.items() if text}}


def _end_of(text: str) -> str:
    if len(text) <= MAX_OUTPUT_CHARS:
        return text
    return f"({len(text) - MAX_OUTPUT_CHARS} characters left out)\n{text[-MAX_OUTPUT_CHARS:]}"

"""The port to sandboxes: they run commands that are not trusted, such as programs that a model wrote."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, Literal, Self

from pydantic import ValidationError

from agentic.core.sandbox.errors import SandboxFileError
from agentic.core.sandbox.model import SandboxJob, SandboxLimits, SandboxResult, as_files

OnOutput = Callable[[Literal["stdout", "stderr"], bytes], None]
"""Receives pieces of output as they come; quick, and called on the event loop."""


class Sandbox(ABC):
    """Runs commands apart from this machine: no network, no files, no secrets of it, and within limits.

    Attributes:
        kind: Its kind, for messages.
    """

    kind: ClassVar[str]

    async def run(
        self,
        files: Mapping[str, str | bytes],
        command: Sequence[str],
        limits: SandboxLimits | None = None,
        *,
        on_output: OnOutput | None = None,
        **options: Any,  # noqa: ANN401  # fields of a job, which checks them
    ) -> SandboxResult:
        """Run a command and return its result, whatever it is.

        When cancelled, the command is ended first.

        Args:
            files: Name -> content: the files in the folder that the command starts in.
            command: The program and its arguments; no shell reads them.
            limits: Its limits.
            on_output: Receives output as it comes.
            options: ``tools``, ``environment`` and ``keep`` of a :class:`SandboxJob`.

        Raises:
            SandboxFileError: A file, the command or an option cannot be used.
            UnknownToolError: The sandbox has no such tool.
            MissingToolError: A tool is not installed.
            SandboxUnavailableError: The sandbox cannot be used.
            SandboxLostError: Its machine was lost; the command may have run.
        """
        if isinstance(command, str):
            raise SandboxFileError(f"the command {command[:80]!a} is a text; give a list of words")
        try:
            job = SandboxJob.model_validate(
                {
                    "files": as_files(files),
                    "command": tuple(command),
                    "limits": limits or SandboxLimits(),
                    **options,
                }
            )
        except ValidationError as exc:
            faults = "; ".join(f"{'.'.join(map(str, e['loc']))[:80]}: {e['msg']}" for e in exc.errors())
            faults = faults.replace(": Value error, ", ": ")
            raise SandboxFileError(f"this cannot be run: {faults}") from None
        return await self.run_job(job, on_output)

    @abstractmethod
    async def run_job(self, job: SandboxJob, on_output: OnOutput | None = None) -> SandboxResult:
        """Run a job; see :meth:`run`."""

    async def compile(self, code: str, language: str) -> Any:  # noqa: ANN401  # of a room above this one
        """Compile code; see :meth:`~agentic.core.coding.SandboxValidator.validate_code`."""
        return await import_module("agentic.core.coding").SandboxValidator(self).validate_code(code, language)

    async def aclose(self) -> None:  # noqa: B027  # most have nothing to close
        """Close connections; the sandbox can be used again afterwards."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

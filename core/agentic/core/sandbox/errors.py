"""Errors of sandboxes."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.errors import AgenticError


class SandboxError(AgenticError):
    """A sandbox could not run a command. The command's own failure is a result, not an error."""


class SandboxUnavailableError(SandboxError):
    """A sandbox cannot be used here.

    Attributes:
        sandbox: Its kind.
        reason: The cause.
    """

    def __init__(self, sandbox: str, reason: str, next_step: str = "") -> None:
        super().__init__(f"the sandbox {sandbox!r} cannot be used: {reason}{next_step and f'; {next_step}'}")
        self.sandbox = sandbox
        self.reason = reason


class SandboxLostError(SandboxError, ConnectionError):
    """The machine that ran a command is silent or gone: the command may have run."""

    def __init__(self, sandbox: str, reason: str) -> None:
        super().__init__(f"the run in the sandbox {sandbox!r} was lost: {reason}; run it again")
        self.sandbox = sandbox
        self.reason = reason


class SandboxFileError(SandboxError, ValueError):
    """A file or a command cannot be given to a sandbox."""


class MissingToolError(SandboxError, LookupError):
    """A tool that a command needs is not installed.

    Attributes:
        tool: Its name.
    """

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(f"the tool {tool!r} cannot be used in a sandbox: {reason}")
        self.tool = tool


class UnknownToolError(SandboxError, LookupError):
    """A sandbox has no tool of that name."""

    def __init__(self, tool: str, known: Sequence[str]) -> None:
        super().__init__(
            f"the sandbox has no tool {tool!r} (known: {', '.join(known) or 'none'}); add it to its Toolbox"
        )
        self.tool = tool
        self.known = tuple(known)

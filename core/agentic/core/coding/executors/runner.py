"""A sandbox, as a node of a graph."""

from __future__ import annotations

from typing import Never

from pydantic import Field

from agentic.core.coding.messages import CodingMessage
from agentic.core.graph import Executor, ExecutorKind, RetryPolicy, WorkflowContext, handler
from agentic.core.sandbox import Sandbox, SandboxLimits, SandboxResult
from agentic.core.types import JSONValue


class SandboxRun(CodingMessage):
    """A command to run in a sandbox, with its files."""

    __wire_name__ = "agentic.coding.SandboxRun"

    command: tuple[str, ...]
    files: dict[str, str] = Field(default_factory=dict)
    tools: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    keep: tuple[str, ...] = ("*",)


class SandboxRunner(Executor):
    """Runs commands in a sandbox. Sends the :class:`~agentic.core.sandbox.SandboxResult`, whatever it is.

    Args:
        id: Of the node.
        sandbox: The sandbox.
        limits: Limits of each run.
        yields_status: Whether it yields a line of text about each result.
        retry: How often a failing activation is tried; a result is not a failure.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  # as of every executor
        sandbox: Sandbox,
        limits: SandboxLimits | None = None,
        *,
        yields_status: bool = True,
        retry: RetryPolicy | None = None,
    ) -> None:
        super().__init__(id, kind=ExecutorKind.WORKER, retry=retry)
        self.sandbox = sandbox
        self.limits = limits or SandboxLimits()
        self.yields_status = yields_status

    @handler
    async def on_run(self, given: SandboxRun, ctx: WorkflowContext[Never, str]) -> SandboxResult:
        """Run a command."""
        result = await self.sandbox.run(
            dict(given.files),
            given.command,
            self.limits,
            tools=given.tools,
            environment=given.environment,
            keep=given.keep,
        )
        if self.yields_status:
            await ctx.yield_output(f"Sandbox: {result.describe()}")
        return result

    @handler
    async def on_value(self, value: dict[str, JSONValue], ctx: WorkflowContext[Never, str]) -> SandboxResult:
        """Run a command as a JSON value."""
        return await self.on_run(SandboxRun.model_validate(value), ctx)

"""The sandbox that the settings name."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from agentic.core.bus import open_bus
from agentic.core.sandbox.docker.sandbox import DockerSandbox
from agentic.core.sandbox.errors import SandboxUnavailableError
from agentic.core.sandbox.model import SandboxJob, SandboxResult
from agentic.core.sandbox.process.bubblewrap import ProcessSandbox
from agentic.core.sandbox.process.unisolated import UnisolatedSandbox
from agentic.core.sandbox.remote.client import RemoteSandbox
from agentic.core.sandbox.sandbox import OnOutput, Sandbox
from agentic.core.sandbox.tools import Toolbox
from agentic.core.settings import Settings, load_settings


@asynccontextmanager
async def open_sandbox(
    tools: Toolbox | None = None, settings: Settings | None = None
) -> AsyncGenerator[Sandbox, None]:
    """Open the sandbox that ``AGENTIC_SANDBOX`` names.

    ``auto`` takes containers if an image is configured, else processes with bubblewrap if that works here. It
    never takes plain processes: only ``unisolated`` does.

    Args:
        tools: The tools that jobs may ask for.
        settings: The settings; read if omitted.

    Raises:
        SandboxUnavailableError: It cannot be used.
    """
    settings = settings or load_settings()
    async with AsyncExitStack() as stack:
        match settings.sandbox:
            case "docker":
                sandbox: Sandbox = _containers(tools, settings)
            case "process":
                sandbox = await _processes(tools)
            case "remote":
                sandbox = RemoteSandbox(
                    await stack.enter_async_context(open_bus(settings)), settings.sandbox_pool
                )
            case "unisolated":
                sandbox = UnisolatedSandbox(tools)
            case "auto" if settings.sandbox_image:
                sandbox = _containers(tools, settings)
            case _:
                sandbox = await _processes_or_nothing(tools)
        yield await stack.enter_async_context(sandbox)


class ConfiguredSandbox(Sandbox):
    """The sandbox that ``AGENTIC_SANDBOX`` names, opened for each job: see :func:`open_sandbox`.

    It holds nothing between jobs, so it needs no ``async with``: use it in workflows that workers build. It
    does not limit jobs at a time; ``max_parallel`` of workflows and executors does.

    Args:
        tools: The tools that jobs may ask for.
        settings: The settings; read for each job if omitted.
    """

    kind = "configured"

    def __init__(self, tools: Toolbox | None = None, settings: Settings | None = None) -> None:
        self.tools = tools
        self.settings = settings

    async def run_job(self, job: SandboxJob, on_output: OnOutput | None = None) -> SandboxResult:
        """Run a job; see :meth:`Sandbox.run`."""
        async with open_sandbox(self.tools, self.settings) as sandbox:
            return await sandbox.run_job(job, on_output)


def _containers(tools: Toolbox | None, settings: Settings) -> DockerSandbox:
    if not settings.sandbox_image:
        raise SandboxUnavailableError("docker", "it has no image", "set AGENTIC_SANDBOX_IMAGE")
    return DockerSandbox(settings.sandbox_image, url=settings.sandbox_engine, tools=tools)


async def _processes(tools: Toolbox | None) -> ProcessSandbox:
    sandbox = ProcessSandbox(tools)
    await sandbox.probe()
    return sandbox


async def _processes_or_nothing(tools: Toolbox | None) -> ProcessSandbox:
    try:
        return await _processes(tools)
    except SandboxUnavailableError as exc:
        raise SandboxUnavailableError(
            "auto",
            f"no code runs here without isolation ({exc})",
            "or set AGENTIC_SANDBOX_IMAGE for containers, AGENTIC_SANDBOX=remote for a worker elsewhere, or "
            "AGENTIC_SANDBOX=unisolated if you trust the code",
        ) from exc

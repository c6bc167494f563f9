"""Sandboxes: they run programs that a model wrote, apart from this machine and within limits.

``ProcessSandbox`` isolates processes of this machine, ``DockerSandbox`` runs containers,
``FirecrackerSandbox`` virtual machines, and ``RemoteSandbox`` asks a worker elsewhere;
:func:`open_sandbox` and ``ConfiguredSandbox`` choose by the settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.sandbox.docker.sandbox import DockerSandbox
    from agentic.core.sandbox.errors import (
        MissingToolError,
        SandboxError,
        SandboxFileError,
        SandboxLostError,
        SandboxUnavailableError,
        UnknownToolError,
    )
    from agentic.core.sandbox.firecracker.sandbox import FirecrackerSandbox
    from agentic.core.sandbox.model import Ending, SandboxJob, SandboxLimits, SandboxResult
    from agentic.core.sandbox.opening import ConfiguredSandbox, open_sandbox
    from agentic.core.sandbox.process.bubblewrap import ProcessSandbox
    from agentic.core.sandbox.process.unisolated import UnisolatedSandbox
    from agentic.core.sandbox.remote.client import RemoteSandbox
    from agentic.core.sandbox.remote.worker import serve_sandbox
    from agentic.core.sandbox.sandbox import OnOutput, Sandbox
    from agentic.core.sandbox.tools import SandboxTool, Toolbox, ToolFinder, program, tool_folder

_HOMES = {
    "FirecrackerSandbox": "firecracker.sandbox",
    **dict.fromkeys(
        (
            "MissingToolError",
            "SandboxError",
            "SandboxFileError",
            "SandboxLostError",
            "SandboxUnavailableError",
            "UnknownToolError",
        ),
        "errors",
    ),
    **dict.fromkeys(("Ending", "SandboxJob", "SandboxLimits", "SandboxResult"), "model"),
    **dict.fromkeys(("SandboxTool", "ToolFinder", "Toolbox", "program", "tool_folder"), "tools"),
    **dict.fromkeys(("OnOutput", "Sandbox"), "sandbox"),
    **dict.fromkeys(("ConfiguredSandbox", "open_sandbox"), "opening"),
    **dict.fromkeys(("ProcessSandbox",), "process.bubblewrap"),
    **dict.fromkeys(("UnisolatedSandbox",), "process.unisolated"),
    **dict.fromkeys(("DockerSandbox",), "docker.sandbox"),
    **dict.fromkeys(("RemoteSandbox",), "remote.client"),
    **dict.fromkeys(("serve_sandbox",), "remote.worker"),
}

__all__ = [
    "ConfiguredSandbox",
    "DockerSandbox",
    "Ending",
    "FirecrackerSandbox",
    "MissingToolError",
    "OnOutput",
    "ProcessSandbox",
    "RemoteSandbox",
    "Sandbox",
    "SandboxError",
    "SandboxFileError",
    "SandboxJob",
    "SandboxLimits",
    "SandboxLostError",
    "SandboxResult",
    "SandboxTool",
    "SandboxUnavailableError",
    "ToolFinder",
    "Toolbox",
    "UnisolatedSandbox",
    "UnknownToolError",
    "open_sandbox",
    "program",
    "serve_sandbox",
    "tool_folder",
]


def __getattr__(name: str) -> object:
    # Loaded at the first use of a name: most users need one sandbox.
    return loaded(__name__, _HOMES, name)

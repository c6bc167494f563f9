"""Tools in a sandbox: folders of this machine that a run can read and never write, such as a compiler.

They are visible in each run where they are: nothing is copied or installed for a run.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from agentic.core.records import record
from agentic.core.sandbox.errors import MissingToolError, UnknownToolError

FOLDER = "/tools"
"""Folder of the tools in a sandbox."""


@record(kw_only=True)
class SandboxTool:
    """A tool, found on this machine.

    Attributes:
        mounts: Place below ``/tools`` -> file or folder of this machine.
        path: Folders below ``/tools`` with its programs.
        environment: Variables that it needs.
    """

    mounts: tuple[tuple[str, Path], ...] = ()
    path: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


ToolFinder = Callable[[], SandboxTool]
"""Finds a tool on this machine; raises :class:`MissingToolError` without it."""


class Toolbox:
    """The tools of a sandbox by name. A tool is looked for at its first use.

    Args:
        finders: Name -> finder.
    """

    def __init__(self, finders: Mapping[str, ToolFinder] | None = None) -> None:
        self._finders = dict(finders or {})
        self._found: dict[str, SandboxTool] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tools, installed or not."""
        return tuple(sorted(self._finders))

    def find(self, name: str) -> SandboxTool:
        """Return a tool.

        Raises:
            UnknownToolError: It has no such tool.
            MissingToolError: The tool is not installed.
        """
        if name not in self._found:
            if name not in self._finders:
                raise UnknownToolError(name, self.names)
            self._found[name] = self._finders[name]()
        return self._found[name]

    def has(self, name: str) -> bool:
        """Whether a tool is installed."""
        try:
            self.find(name)
        except (MissingToolError, UnknownToolError):
            return False
        return True

    def joined(self, finders: Mapping[str, ToolFinder]) -> Toolbox:
        """Return a box with further tools; they replace tools of the same name."""
        return Toolbox({**self._finders, **finders})


def tool_folder(
    name: str, folder: Path, *, path: tuple[str, ...] = ("bin",), **environment: str
) -> ToolFinder:
    """Return the finder of a tool that is one folder.

    Args:
        name: Its name.
        folder: The folder.
        path: Folders in it with its programs.
        environment: Variables that it needs.
    """

    def find() -> SandboxTool:
        if not folder.is_dir():
            raise MissingToolError(name, f"the folder {folder} does not exist; install it there")
        inside = tuple(f"{name}/{part}" if part else name for part in path)
        return SandboxTool(mounts=((name, folder),), path=inside, environment=tuple(environment.items()))

    return find


def program(name: str) -> ToolFinder:
    """Return the finder of a tool that is one program, from the ``PATH`` of this process."""

    def find() -> SandboxTool:
        found = shutil.which(name)
        if found is None:
            raise MissingToolError(name, f"{name} is not on the PATH; install it")
        return SandboxTool(mounts=((f"{name}/{name}", Path(found).resolve()),), path=(name,))

    return find

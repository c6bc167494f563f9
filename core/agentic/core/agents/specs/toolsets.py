"""The MCP servers of an agent that is data: their settings, and the commands that may be started."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    ValidationInfo,
    field_validator,
    model_validator,
)

from agentic.core.agents.errors import ToolDefinitionError
from agentic.core.agents.tools.tool import NAME
from agentic.core.agents.tools.toolset import Toolset
from agentic.core.hooks import get_registry
from agentic.core.masking import is_telling
from agentic.core.secret_names import folded_name, secret_name_fault

SECRET_HEAD = "${secrets."  # noqa: S105  # the beginning of a reference
NO_PLUGIN = "the plugin for MCP servers is not installed, or disabled; see `agentic plugins`"

_Program = tuple[tuple[str, ...], frozenset[tuple[str, str]]]

_named: set[_Program] = set()
"""Commands, with their environments, in files that the user of this process has named."""


class McpToolSpec(BaseModel):
    """The tools of an MCP server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mcp: str | tuple[str, ...] = Field(
        description="The URL of a server (streamable HTTP), or a command with arguments as a list (stdio)."
    )
    name: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9_-]{0,32}$",
        description="Begins the names of its tools: ``shop`` makes ``find`` to ``shop_find``.",
    )
    token: str | None = Field(default=None, description="Sent as ``Authorization: Bearer``; a secret.")
    headers: dict[str, str] = Field(default_factory=dict, description="Sent with each request.")
    env: dict[str, str] = Field(default_factory=dict, description="Environment of the command.")
    only: tuple[str, ...] = Field(default=(), description="Use these of its tools; all if omitted.")
    without: tuple[str, ...] = Field(default=(), description="Leave these of its tools out.")
    rename: dict[str, str] = Field(default_factory=dict, description="The server's name -> the name here.")
    approval: Literal["always", "never", "writes"] | dict[str, Literal["always", "never"]] = Field(
        default="never",
        description="Whether a person must approve calls: of all tools, of those that the server does not "
        "call read-only (``writes``), or by the server's name of the tool.",
    )
    timeout_s: PositiveFloat = Field(default=60.0, description="Seconds that a call may take.")
    optional: bool = Field(
        default=False, description="Continue without its tools while the server cannot be reached."
    )

    @field_validator("mcp", mode="before")
    @classmethod
    def _findable(cls, given: Any, info: ValidationInfo) -> Any:  # noqa: ANN401  # not validated yet
        folder: Path | None = (info.context or {}).get("folder")
        if not isinstance(given, (list, tuple)) or not all(isinstance(part, str) for part in given):
            return given
        parts = tuple(str(part) for part in given)
        if folder is not None:
            parts = tuple(_absolute(part, folder) for part in parts)
        return parts

    @model_validator(mode="after")
    def _fits(self, info: ValidationInfo) -> Self:
        if isinstance(self.mcp, str):
            if not self.mcp.startswith(("http://", "https://")):
                raise ValueError(
                    f"{self.mcp!r:.80} is not an MCP server; write a URL (https://host/mcp), or a command as "
                    "a list ([npx, -y, package])"
                )
            if "@" in self.mcp.partition("://")[2].partition("/")[0]:
                raise ValueError("the URL of an MCP server has a password; use 'token' or 'headers'")
            if self.env:
                raise ValueError("'env' is for a command; a server at a URL takes 'headers' or 'token'")
        elif not self.mcp or not self.mcp[0]:
            raise ValueError("'mcp' is an empty list; write the command of the server")
        elif self.headers or self.token:
            raise ValueError("'headers' and 'token' are for a URL; a command takes 'env'")
        for new in self.rename.values():
            if NAME.fullmatch(new) is None:
                raise ValueError(
                    f"a tool cannot be called {new!r:.80}: use 1 to 64 letters, digits, '_' or '-'"
                )
        context = info.context or {}
        if not isinstance(self.mcp, str) and context.get("folder") is not None and context.get("runs_code"):
            _named.add((self.mcp, frozenset(self.env.items())))
        return self

    @property
    def label(self) -> str:
        """The server in messages: its name, its URL without query, or its program."""
        if self.name:
            return self.name
        return self.mcp.partition("?")[0] if isinstance(self.mcp, str) else Path(self.mcp[0]).name

    def settings(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the texts that may be secrets, with their places."""
        if self.token is not None:
            yield ("token",), self.token
        for key, value in self.headers.items():
            yield ("headers", key), value
        for key, value in self.env.items():
            yield ("env", key), value


def secret_named(value: object) -> str | None:
    """Return the name of the secret that a text refers to, as ``${secrets.NAME}``."""
    if not isinstance(value, str) or not value.startswith(SECRET_HEAD) or not value.endswith("}"):
        return None
    name = value[len(SECRET_HEAD) : -1]
    return None if secret_name_fault(name) else name


def toolset_faults(spec: McpToolSpec) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the faults of a server: place in it and message. Nothing is started, and no value is shown."""
    if "mcp" not in get_registry().toolsets:
        yield ("mcp",), NO_PLUGIN
    for place, value in spec.settings():
        if SECRET_HEAD in value and secret_named(value) is None:
            yield place, "a secret must stand alone: ${secrets.NAME}"
        elif is_telling(place[-1]) and secret_named(value) is None:
            yield (
                place,
                "it is a secret; store it with `agentic secrets set NAME`, and write ${secrets.NAME} here",
            )
    if not isinstance(spec.mcp, str):
        yield from command_faults(spec.mcp, spec.env)


def command_faults(command: Sequence[str], env: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield why this process may not start a command with an environment: place and message."""
    from agentic.core.settings import load_settings

    if (tuple(command), frozenset(env.items())) in _named:
        return
    allowed = load_settings().mcp_commands
    if command[0] not in allowed and shlex.join(command) not in allowed:
        words = (
            f"the command {command[0]!r:.80} may not be started here: agents in a database start only the "
            "programs and command lines that the setting AGENTIC_MCP_COMMANDS lists, as JSON; add it there"
        )
        yield ("mcp",), words
    # LD_PRELOAD, PYTHONPATH and many others make an allowed program run other code.
    for name in env:
        if secret_named(env[name]) is None:
            words = (
                "an agent in a database sets the environment of a program by secrets only; write "
                f"${{secrets.NAME}}, or allow the command line 'env {name:.80}=... PROGRAM'"
            )
            yield ("env", name), words


def make_toolset(spec: McpToolSpec, secrets: Mapping[str, str]) -> Toolset:
    """Return the tools of a server.

    Args:
        spec: The server.
        secrets: Their values, by folded name.

    Raises:
        ToolDefinitionError: Its plugin is missing, the command may not be started, or a secret is not given.
    """
    toolsets = get_registry().toolsets
    if "mcp" not in toolsets:
        raise ToolDefinitionError(NO_PLUGIN)
    if not isinstance(spec.mcp, str):
        for _, fault in command_faults(spec.mcp, spec.env):
            raise ToolDefinitionError(fault)
    for _, value in spec.settings():
        if (name := secret_named(value)) is not None and folded_name(name) not in secrets:
            raise ToolDefinitionError(
                f"the secret {name!r} is needed for the MCP server {spec.label}; "
                f"pass secrets={{{name!r}: ...}}"
            )

    used: list[str] = []

    def resolved(value: str) -> str:
        name = secret_named(value)
        if name is None:
            return value
        used.append(secrets[folded_name(name)])
        return used[-1]

    given = spec.model_copy(
        update={
            "token": None if spec.token is None else resolved(spec.token),
            "headers": {key: resolved(value) for key, value in spec.headers.items()},
            "env": {key: resolved(value) for key, value in spec.env.items()},
        }
    )
    return toolsets["mcp"](given, tuple(used))


def _absolute(part: str, folder: Path) -> str:
    return str((folder / part).resolve()) if part.startswith(("./", "../")) else part

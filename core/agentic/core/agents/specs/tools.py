"""The tools of an agent that is data."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence

from agentic.core.actors.own_code import OwnCodeError, load_own_object
from agentic.core.agents.errors import ToolDefinitionError
from agentic.core.agents.tools.functions import as_tool
from agentic.core.agents.tools.tool import Tool, ask_person
from agentic.core.hooks.offers import is_own_code
from agentic.core.pipeline.expressions.suggestions import unknown_word

ToolMaker = Callable[[str], Tool]
"""Makes a tool of the text after the colon: ``shop`` of ``pipeline:shop``."""

MAKERS: Mapping[str, ToolMaker] = {}
"""Prefix -> maker: ``prefix:rest`` in a spec is the tool that the maker returns for ``rest``."""

KNOWN = ("./tools.py:function", "ask_person")


def make_tool(text: str) -> Tool:
    """Return the tool that a spec names.

    Raises:
        ValueError: The tool does not exist.
    """
    if text == "ask_person":
        return ask_person()
    if is_own_code(text):
        return _own_tool(text)
    prefix, colon, rest = text.partition(":")
    if colon and (maker := MAKERS.get(prefix)) is not None:
        return maker(rest)
    raise ValueError(unknown_word("tool", text, [*KNOWN, *(f"{one}:NAME" for one in MAKERS)]))


def with_approval(tools: Sequence[Tool], approval: Mapping[str, str]) -> list[Tool]:
    """Return tools with the approvals of a spec.

    Raises:
        ValueError: A tool does not exist, or answers come from a person already.
    """
    known = {tool.name: tool for tool in tools}
    for name, wanted in approval.items():
        if name not in known:
            raise ValueError(unknown_word("tool", name, known))
        if known[name].is_external:
            raise ValueError(f"{name!r} is answered by a person, so it needs no approval; remove it here")
        changed = copy.copy(known[name])  # the file has it for other agents, too
        changed.approval = "always" if wanted == "always" else "never"
        known[name] = changed
    return list(known.values())


def _own_tool(text: str) -> Tool:
    found = load_own_object(text)
    try:
        return as_tool(found)
    except ToolDefinitionError as exc:
        raise OwnCodeError(f"{text.rpartition('/')[2]} cannot be a tool: {exc}") from None

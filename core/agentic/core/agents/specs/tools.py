"""The tools of an agent that is data."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence

from agentic.core.actors.own_code import OwnCodeError, find_own_file, load_own_object
from agentic.core.agents.errors import ToolDefinitionError
from agentic.core.agents.tools.actors import ActorTool, ContextOf
from agentic.core.agents.tools.functions import as_tool
from agentic.core.agents.tools.runs import PipelineTool
from agentic.core.agents.tools.tool import Tool, ask_person
from agentic.core.hooks import get_registry
from agentic.core.hooks.offers import is_own_code
from agentic.core.pipeline.expressions.suggestions import unknown_word

ToolMaker = Callable[[str, ContextOf | None], Tool]
"""Makes a tool of the text after the colon, ``shop.yaml`` of ``pipeline:shop.yaml``, and of the services."""

KNOWN = ("./tools.py:function", "ask_person")


def make_tool(text: str, context: ContextOf | None = None) -> Tool:
    """Return the tool that a spec names.

    Args:
        text: ``./tools.py:function``, ``ask_person``, ``actor:NAME`` or ``pipeline:FILE``.
        context: Services of actors and pipelines; see :class:`~agentic.core.agents.ActorTool`.

    Raises:
        ValueError: The tool does not exist.
        SpecError: The pipeline cannot be used.
        ToolDefinitionError: The actor does not exist, or the pipeline cannot be a tool.
    """
    if text == "ask_person":
        return ask_person()
    if is_own_code(text):
        return _own_tool(text)
    prefix, colon, rest = text.partition(":")
    if colon and (maker := MAKERS.get(prefix)) is not None:
        return maker(rest, context)
    raise ValueError(unknown_word("tool", text, [*KNOWN, "actor:NAME", "pipeline:FILE"]))


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


def _actor_tool(name: str, context: ContextOf | None) -> Tool:
    return ActorTool(name, context)


def _pipeline_tool(file: str, context: ContextOf | None) -> Tool:
    from agentic.core.pipeline import load_spec

    return PipelineTool(load_spec(find_own_file(file), get_registry().actors), context)


MAKERS: Mapping[str, ToolMaker] = {"actor": _actor_tool, "pipeline": _pipeline_tool}
"""Prefix -> maker: ``prefix:rest`` in a spec is the tool that the maker returns for ``rest``."""


def _own_tool(text: str) -> Tool:
    found = load_own_object(text)
    try:
        return as_tool(found)
    except ToolDefinitionError as exc:
        raise OwnCodeError(f"{text.rpartition('/')[2]} cannot be a tool: {exc}") from None

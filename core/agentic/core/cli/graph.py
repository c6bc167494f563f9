"""``agentic graph``: shows the graph of a workflow or a pipeline."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from agentic.core.cli.output import print_json
from agentic.core.errors import AgenticError
from agentic.core.graph import Workflow
from agentic.core.hooks import get_registry


class UnknownWorkflowError(AgenticError, LookupError):
    """Neither a workflow of a plugin nor a pipeline file is called that."""

    def __init__(self, name: str, known: list[str]) -> None:
        near = get_close_matches(name, known, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else f" (known: {', '.join(known) or 'none'})"
        super().__init__(f"{name!r} is no workflow of a plugin and no pipeline file{hint}")
        self.name = name


def graph(
    name: Annotated[str, typer.Argument(help="A workflow of a plugin, or a pipeline file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print nodes and edges as JSON.")] = False,
) -> None:
    """Draw a workflow as a Mermaid flowchart."""
    workflow = find_workflow(name)
    if as_json:
        print_json(workflow.to_dict())
    else:
        sys.stdout.write(workflow.to_mermaid() + "\n")


def find_workflow(name: str) -> Workflow:
    """Return the workflow of a plugin, or the one that a pipeline file compiles to.

    Raises:
        UnknownWorkflowError: There is neither.
        SpecError: The file is no pipeline.
    """
    factory = get_registry().workflows.get(name)
    if factory is not None:
        return factory()
    if Path(name).is_file():
        from agentic.core.pipeline import load_spec, outline

        return outline(load_spec(Path(name)), get_registry().actors)
    raise UnknownWorkflowError(name, sorted(get_registry().workflows))

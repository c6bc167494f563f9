"""``agentic graph``: pictures of a workflow, a pipeline, or a run."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli.events import OfProject, of_project
from agentic.core.cli.output import console, print_json
from agentic.core.errors import AgenticError
from agentic.core.hooks import get_registry
from agentic.core.settings import load_settings

if TYPE_CHECKING:
    from agentic.core.graph import Workflow, WorkflowEvent

graph_app = typer.Typer(name="graph", help="Draw workflows, pipelines and runs.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Workflow of a plugin, or pipeline file.")]


class UnknownGraphError(AgenticError, LookupError):
    """Neither a workflow of a plugin nor a pipeline file is called that."""

    def __init__(self, name: str, known: list[str]) -> None:
        near = get_close_matches(name, known, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else f" (known: {', '.join(known) or 'none'})"
        super().__init__(f"{name!r} is neither a workflow of a plugin nor a pipeline file{hint}")
        self.name = name


class NothingToDrawError(AgenticError, LookupError):
    """There is no run, or no workflow was named."""


@graph_app.command("mermaid")
def mermaid(name: Name) -> None:
    """Draw a workflow as a Mermaid flowchart."""
    sys.stdout.write(find_workflow(name).to_mermaid() + "\n")


@graph_app.command("json")
def as_json(name: Name) -> None:
    """Print a workflow's executors and edges as JSON."""
    print_json(find_workflow(name).to_dict())


@graph_app.command("svg")
def svg(
    name: Annotated[
        str | None, typer.Argument(help="Workflow or pipeline file. Default: the workflow of --run.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="Draw the states and times of this run.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
    project: OfProject = None,
) -> None:
    """Draw a workflow or a run as an SVG picture, offline and without other programs."""
    if name is None and run is None:
        raise NothingToDrawError("name a workflow or a pipeline file, or a run with --run")
    text = _svg(name, run, of_project(project))
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8")
        console.print(f"wrote {output}")


def _svg(name: str | None, run: str | None, project: str | None) -> str:
    from agentic.core.graph.build.from_events import graph_from_events
    from agentic.core.views.replay import replay
    from agentic.core.views.viz import to_svg

    if run is None:
        return find_workflow(str(name)).to_svg()
    events = asyncio.run(_events_of(run, project))
    view = replay(events)[-1]
    return (
        to_svg(graph_from_events(events), run=view) if name is None else find_workflow(name).to_svg(run=view)
    )


async def _events_of(run: str, project: str | None) -> list[WorkflowEvent]:
    """Return the durable events of a run, from the stream.

    Raises:
        NothingToDrawError: The stream has none.
        AmbiguousRunError: Several projects have a run of that id.
    """
    from agentic.core.bus import EventFilter, NatsNotConfiguredError, open_bus, read_events
    from agentic.core.cli.replay.sources import AmbiguousRunError

    settings = load_settings()
    if settings.nats is None:
        raise NatsNotConfiguredError(settings.home)
    by_project: dict[str, list[WorkflowEvent]] = {}
    async with open_bus(settings, project) as bus:
        end = (await bus.state()).last
        wanted = EventFilter(project=project, run_id=run)
        async with aclosing(read_events(bus, wanted, until=end)) as found:
            async for published in found:
                if published.event.sequence is not None:
                    by_project.setdefault(published.project, []).append(published.event)
    if not by_project:
        raise NothingToDrawError(f"the stream has no events of run {run!r}; see `agentic events tail`")
    if len(by_project) > 1:
        raise AmbiguousRunError(run, [(owner, run) for owner in by_project])
    return next(iter(by_project.values()))


def find_workflow(name: str) -> Workflow:
    """Return the workflow of a plugin, or the one that a pipeline file compiles to.

    Raises:
        UnknownGraphError: There is neither.
        DuplicateNameError: Two plugins claim the name.
        SpecError: The file is no pipeline.
    """
    workflows = get_registry().workflows
    if workflows.is_taken(name):
        return workflows[name]()
    if Path(name).is_file():
        from agentic.core.pipeline import load_spec, outline

        return outline(load_spec(Path(name), runs_code=True), get_registry().actors)
    raise UnknownGraphError(name, sorted(workflows))

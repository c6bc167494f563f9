"""Every hook a plugin may implement: when it is called, what to return, what happens on failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks.markers import hookspec

if TYPE_CHECKING:  # spec types only; importing them would load rooms above this one
    import typer

    from agentic.core.actors import Actor
    from agentic.core.graph import Workflow, WorkflowEvent
    from agentic.core.hooks.findings import Finding
    from agentic.core.hooks.later import ActorAt
    from agentic.core.hooks.observed import ObservedExecution
    from agentic.core.hooks.platform import Platform
    from agentic.core.pipeline import PipelineBuilder


@hookspec
def agentic_platforms() -> Iterable[Platform]:
    """Return the platforms this plugin adds. Called once, when a platform is first asked for.

    A name that two plugins claim is nobody's: asking for it raises ``DuplicateNameError`` naming both, and
    all other names work. A plugin that raises here is listed by ``agentic plugins`` with its error and
    brings no platform.
    """
    raise NotImplementedError


@hookspec
def agentic_actors() -> Iterable[type[Actor] | ActorAt]:
    """Return the pipeline actors this plugin adds. Called once, when an actor is first asked for.

    :func:`~agentic.core.hooks.actor_at` names one that is loaded when it is asked for itself. Names and
    aliases are unique over all plugins, as for platforms. A plugin that raises here is listed with its error
    and brings no actor.
    """
    raise NotImplementedError


@hookspec
def agentic_builders() -> Mapping[str, Callable[[Mapping[str, type[Actor]]], PipelineBuilder]]:
    """Return builder name -> factory, for ``agentic pipelines build``: what turns an intent into a pipeline.

    Called once, when a builder is first asked for. A factory is given every installed actor by name and
    alias. Where a model or a LangGraph graph makes the decisions, it is loaded by the factory and not
    before. A plugin that raises here is listed with its error and brings no builder.
    """
    raise NotImplementedError


@hookspec
def agentic_workflows() -> Mapping[str, Callable[[], Workflow]]:
    """Return workflow name -> factory, for workers and ``agentic graph`` to rebuild a graph by name.

    A factory is called each time and must build the same graph. A plugin that raises here is listed with
    its error and brings no workflow.
    """
    raise NotImplementedError


@hookspec
def agentic_commands(app: typer.Typer) -> None:
    """Add commands or groups to the ``agentic`` command line. Called once, before arguments are read.

    Import what a command needs inside the command, as this runs at every start. A plugin that raises here
    is listed with its error; its commands are missing and the others work.
    """


@hookspec
def agentic_execution_started(execution: ObservedExecution) -> None:
    """Add whatever should happen when an execution of an agent begins: a metric, a line, a message.

    Called after it has begun, on a thread beside the run, in the process that began it: neither what is
    raised here nor a call that takes long can harm the run. What is raised is logged, with the plugin's
    name. A process that is killed tells nobody; who must miss nothing reads the events (``agentic.core.bus``)
    or the table of executions.
    """


@hookspec
def agentic_execution_finished(execution: ObservedExecution) -> None:
    """Add whatever should happen when an execution of an agent has succeeded, failed or was cancelled.

    Called after its rows are stored, as ``agentic_execution_started`` is; what is raised is logged.
    """


@hookspec
def agentic_event(event: WorkflowEvent, project: str) -> None:
    """Add whatever should happen at an event of a run, durable or live (progress, lines of log).

    Called in order, after the event is kept, as ``agentic_execution_started`` is; what is raised is logged.
    While calls take so long that 10,000 events wait, further ones are left out, and a line of the log says
    how many. Runs of workflows that are no agents' are told of, too; ``project`` is a name.
    """


@hookspec
def agentic_doctor() -> Iterable[str | Finding]:
    """Return faults worth telling, one sentence each with the next step; none when all is well.

    What is no fault is a ``warning("...")`` of ``agentic.core.hooks``. Called by ``agentic doctor`` on a
    thread of its own, beside those of other plugins. What is raised is shown as a fault of this plugin, and
    so is a call that has not ended after 15 s.
    """
    raise NotImplementedError

"""Every hook a plugin may implement: when it is called, what to return, what happens on failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agentic.core.hooks.markers import hookspec

if TYPE_CHECKING:  # spec types only; importing them would load rooms above this one
    import typer

    from agentic.core.actors import Actor
    from agentic.core.agents.tools.toolset import Toolset
    from agentic.core.coding.languages.language import Language
    from agentic.core.graph import Workflow, WorkflowEvent
    from agentic.core.hooks.asgi import AsgiApp
    from agentic.core.hooks.findings import Finding
    from agentic.core.hooks.later import ActorAt
    from agentic.core.hooks.observed import ObservedExecution
    from agentic.core.hooks.platform import Platform
    from agentic.core.llm.adapter import LLMAdapter
    from agentic.core.pipeline import PipelineBuilder


@hookspec
def agentic_platforms() -> Iterable[Platform]:
    """Return the platforms this plugin adds. Called once, when a platform is first used.

    A name that two plugins claim belongs to neither: using it raises ``DuplicateNameError`` naming both, and
    all other names work. A plugin that raises here is listed by ``agentic plugins`` with its error and
    brings no platform.
    """
    raise NotImplementedError


@hookspec
def agentic_actors() -> Iterable[type[Actor] | ActorAt]:
    """Return the pipeline actors this plugin adds. Called once, when an actor is first used.

    :func:`~agentic.core.hooks.actor_at` names one that is loaded at its own first use. Names and
    aliases are unique over all plugins, as for platforms. A plugin that raises here is listed with its error
    and brings no actor.
    """
    raise NotImplementedError


@hookspec
def agentic_builders() -> Mapping[str, Callable[[Mapping[str, type[Actor]]], PipelineBuilder]]:
    """Return builder name -> factory, for ``agentic pipelines build``: builders turn intents into pipelines.

    Called once, when a builder is first used. A factory gets every installed actor by name and
    alias. If a model or a LangGraph graph makes the decisions, only the factory loads it.
    A plugin that raises here is listed with its error and brings no builder.
    """
    raise NotImplementedError


@hookspec
def agentic_models() -> Mapping[str, Callable[..., LLMAdapter]]:
    """Return provider -> factory, for ``llm("provider:model")``. Called once, when a model is first used.

    A factory gets the name of the model, and options by name. It imports the provider's library, and raises
    ``MissingSdkError`` without it. Providers are unique over all plugins, as platforms are. A plugin that
    raises here is listed with its error and brings no models.
    """
    raise NotImplementedError


@hookspec
def agentic_toolsets() -> Mapping[str, Callable[..., Toolset]]:
    """Return kind -> factory of toolsets, for agents that are data. Called once, when one is first used.

    Kinds that specs know: ``mcp`` gets a :class:`~agentic.core.agents.specs.toolsets.McpToolSpec` and the
    values of secrets; ``code_mode`` gets the tools that it stands for. A plugin that raises here is listed
    with its error and brings no toolset.
    """
    raise NotImplementedError


@hookspec
def agentic_languages() -> Iterable[Language]:
    """Return the programming languages that code workers can check. Called once, when one is first used.

    Names and aliases are unique over all plugins, as platforms are. A plugin that raises here is listed with
    its error and brings no language.
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
def agentic_http() -> Mapping[str, Callable[[Any], AsgiApp]]:
    """Return name -> factory of an ASGI application, for ``agentic serve`` to mount at ``/NAME``.

    A factory is called once a server starts, on its event loop. It gets a
    :class:`~agentic.executors.serving.ServedProject`, and the application shows nothing of other projects.
    Every request has passed the server's checks by then: host, size, origin and token. ASGI's lifespan
    protocol opens and closes the application's resources. Names are unique over all plugins, and ``v1``,
    ``health`` and ``openapi.json`` are the server's own. A plugin that raises here, or an application that
    does not start, is logged and left out.
    """
    raise NotImplementedError


@hookspec
def agentic_commands(app: typer.Typer) -> None:
    """Add commands or groups to the ``agentic`` command line. Called once, before arguments are read.

    Put the imports of a command inside the command: this runs at every start. A plugin that raises here
    is listed with its error; its commands are missing and the others work.
    """


@hookspec
def agentic_execution_started(execution: ObservedExecution) -> None:
    """Add a reaction to the start of an execution of an agent: a metric, a line, a message.

    Called after it has begun, on a thread beside the run, in the process that began it: neither an error
    raised here nor a slow call can harm the run. Errors are logged with the plugin's name. A killed process
    calls no observer: to miss nothing, read the events (``agentic.core.bus``) or the table of executions.
    """


@hookspec
def agentic_execution_finished(execution: ObservedExecution) -> None:
    """Add a reaction to the end of an execution of an agent: it has succeeded, failed or was cancelled.

    Called after its rows are stored, as ``agentic_execution_started`` is; an error raised here is logged.
    """


@hookspec
def agentic_event(event: WorkflowEvent, project: str) -> None:
    """Add a reaction to an event of a run, durable or live (progress, lines of log).

    Called in order, after the event is kept, as ``agentic_execution_started`` is; an error raised here is
    logged. If calls are so slow that 10,000 events wait, further events are left out, and the log says how
    many. Runs of workflows outside of agents are included; ``project`` is a name.
    """


@hookspec
def agentic_doctor() -> Iterable[str | Finding]:
    """Return the faults worth reporting, one sentence each with the next step; none when all is well.

    For lesser problems return ``warning("...")`` of ``agentic.core.hooks``. Called by ``agentic doctor`` on
    its own thread, beside the calls of other plugins. An error raised here is a fault of this plugin,
    and so is a call that has not ended after 15 s.
    """
    raise NotImplementedError

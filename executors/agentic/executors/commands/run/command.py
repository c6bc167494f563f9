"""``agentic run``: an agent or a pipeline, here or on a worker."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import err_console
from agentic.core.remote_files import is_url, shown
from agentic.core.settings import Settings, load_settings
from agentic.core.terminal import harmless
from agentic.core.types import JSONValue
from agentic.executors.commands.executions.exporting import ExcelSafe, Out, Table, read_export
from agentic.executors.commands.run.running import RunOutput, checked_dispatcher, print_queued, run_here
from agentic.executors.commands.runs.steering import Desk
from agentic.executors.commands.shared.completing import targets
from agentic.executors.commands.shared.database import (
    current_database,
    ensured_project,
    opened,
    ready_database,
)
from agentic.executors.commands.shared.finding import AgentChangedError, find_unfinished
from agentic.executors.commands.shared.options import (
    AsJson,
    By,
    DispatcherKind,
    InProject,
    OptionError,
    read_values,
)

if TYPE_CHECKING:
    from agentic.executors.agents.catalog import AgentFacts
    from agentic.executors.exports.exporting import Export
    from agentic.mappers import AgentModel, Database, ExecutionModel


def run(  # noqa: PLR0913  # one parameter for each option
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="Pipeline file (.yaml, .yml, .json, .py), agent, or stored pipeline: NAME@VERSION, NAME@.",
            autocompletion=targets,
        ),
    ],
    *,
    project: InProject = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE|@FILE", help="Pipeline inputs. Repeatable."),
    ] = None,
    goals: Annotated[str | None, typer.Option(help="New goals (comma-separated).")] = None,
    dispatcher: By = DispatcherKind.LOCAL,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue the newest execution if it was killed, cancelled or failed, or fetch its failed "
            "pages again if it is partial.",
        ),
    ] = False,
    as_changed: Annotated[
        bool,
        typer.Option(
            "--as-changed",
            help="With --resume, after a change of the agent: fetch remaining and failed pages in a new "
            "execution. Fetched pages are kept, unless you add --reread.",
        ),
    ] = False,
    reread: Annotated[
        bool,
        typer.Option(
            "--reread",
            help="With --resume: also read the stored pages again with the current agent, without requests.",
        ),
    ] = False,
    out: Out = None,
    table: Table = None,
    excel_safe: ExcelSafe = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline file or an agent, and show the stored rows.

    A pipeline becomes an agent of platform `web` with its name; it needs no
    server or set-up. Inputs and goals are stored with the agent.
    """
    export = read_export(out, table, excel_safe=excel_safe)
    _check_options(export, dispatcher, resume=resume, as_json=as_json)
    if as_changed and not resume:
        raise OptionError("--as-changed needs --resume; give both, or neither to start over")
    if reread and not resume:
        raise OptionError("--reread needs --resume; give both, or neither to start over")
    with _interruption_told() as begin:
        settings = load_settings()
        given = read_values(inputs or (), "--input")
        facts = pipeline_facts(target, given, goals, project=project)
        workers = checked_dispatcher(settings) if dispatcher is DispatcherKind.CELERY else None
        with (
            _file_suggested(target, project),
            opened(ready_database(settings) if facts else current_database(settings)) as database,
        ):
            if facts is not None:
                agent = _put_pipeline(database, settings, project, facts)
            else:
                agent = _known_agent(database, project or settings.project, target, given, goals)
            if workers is not None:
                print_queued(workers.submit(database, agent), agent, as_json=as_json)
            else:
                again = None if inputs or goals else _continuation(target, project)
                seen = RunOutput(is_quiet=quiet, export=export, again=again)
                desk = _desk(settings, database, agent)
                unfinished = _resumed(desk, agent, as_changed=as_changed, reread=reread) if resume else None
                if resume and unfinished is None and not quiet:
                    _say_that_it_starts_over(agent)
                begin()
                run_here(
                    agent, unfinished, database=database, settings=settings, as_json=as_json, output=seen
                )


@contextmanager
def _interruption_told() -> Iterator[Callable[[], None]]:
    """If Ctrl-C ends the block before the yielded function is called, print that nothing had started."""
    begun: list[bool] = []
    try:
        yield lambda: begun.append(True)
    except KeyboardInterrupt:
        if not begun:
            err_console.print("stopped: nothing had started", style="yellow", highlight=False)
        raise


@contextmanager
def _file_suggested(target: str, project: str | None) -> Iterator[None]:
    """If no agent has the name ``target``, but a pipeline file nearly has it, add this file to the error.

    Raises:
        OptionError: There is such a file.
    """
    from agentic.mappers.errors import DatabaseNotMigratedError, UnknownAgentError, UnknownProjectError

    try:
        yield
    except (UnknownAgentError, UnknownProjectError, DatabaseNotMigratedError) as exc:
        file = next((name for ending in PIPELINE_ENDINGS if Path(name := target + ending).is_file()), None)
        is_behind = isinstance(exc, DatabaseNotMigratedError) and exc.behind
        if file is None or is_behind or (project is not None and isinstance(exc, UnknownProjectError)):
            raise
        raise OptionError(f"no agent is called {target!r}; did you mean the file {file!r}?") from None


def _say_that_it_starts_over(agent: AgentModel) -> None:
    line = f"nothing to continue: agent {agent.agent_name} has no unfinished execution; it starts over"
    err_console.print(harmless(line), style="yellow", markup=False, highlight=False, soft_wrap=True)


def _continuation(target: str, project: str | None) -> str:
    """Return the command that continues an interrupted run, without its inputs: they may be secrets."""
    return shlex.join(["agentic", "run", target, *(["--project", project] if project else []), "--resume"])


def _desk(settings: Settings, database: Database, agent: AgentModel) -> Desk:
    return Desk(settings=settings, database=database, project_id=agent.project_id, project=agent.project.name)


def _resumed(desk: Desk, agent: AgentModel, *, as_changed: bool, reread: bool) -> ExecutionModel | None:
    """Return the execution for --resume: an unfinished one, or the failed or stored pages of the newest.

    Raises:
        AgentChangedError: The agent has changed since, without the option for that.
    """
    from agentic.executors.commands.executions.failed_pages import crawl_as_changed, failed_pages_again
    from agentic.executors.commands.executions.rereads import resume_reread

    if reread:
        return resume_reread(desk, agent, as_changed=as_changed)
    try:
        return find_unfinished(desk.database, agent) or failed_pages_again(desk.database, agent)
    except AgentChangedError:
        if not as_changed:
            raise
        return crawl_as_changed(desk, agent)


def _check_options(export: Export | None, dispatcher: DispatcherKind, *, resume: bool, as_json: bool) -> None:
    """Refuse options that contradict each other."""
    if resume and dispatcher is DispatcherKind.CELERY:
        raise OptionError(
            "--resume continues in this process, but --dispatcher celery uses a worker; workers continue "
            "killed executions by themselves, and failed ones after `agentic executions retry ID "
            "--dispatcher celery`"
        )
    if export is None:
        return
    if dispatcher is DispatcherKind.CELERY:
        raise OptionError(
            "--out writes the rows of a run in this process, but --dispatcher celery uses a worker; export "
            "them when the execution has ended: `agentic executions export ID --out FILE`"
        )
    if as_json and export.target.is_stdout:
        raise OptionError("--out - and --json both use standard output; leave one of them out")


def _put_pipeline(
    database: Database, settings: Settings, project: str | None, facts: AgentFacts
) -> AgentModel:
    from agentic.executors.agents.catalog import find_named, put_agent

    with database.writing() as session:
        owner = ensured_project(session, project, settings)
        known = find_named(session, owner, facts.name)
        if known is not None and known.agent_platform != facts.platform:
            raise OptionError(
                f"agent {facts.name!r} of project {owner.name!r} belongs to platform "
                f"{known.agent_platform!r}, so it is not a pipeline; give the pipeline another `name`"
            )
        return put_agent(session, owner, facts, replace=True)


def _known_agent(
    database: Database, project: str, name: str, inputs: Mapping[str, JSONValue], goals: str | None
) -> AgentModel:
    from agentic.executors.agents.catalog import check_agent
    from agentic.mappers import find_agent, find_project
    from agentic.mappers.catalog.projects import change_agent

    with database.writing() as session:
        agent = find_agent(session, find_project(session, project).id, name)
        if inputs and agent.agent_platform != PIPELINE_PLATFORM:
            raise OptionError(
                f"--input is for pipelines; agent {name!r} belongs to platform {agent.agent_platform!r}, "
                f"change its config with `agentic agents add {name} --replace ...`"
            )
        config = dict(agent.config)
        if inputs:
            known = config.get("inputs")
            config["inputs"] = {**(known if isinstance(known, dict) else {}), **inputs}
        wanted = agent.goals if goals is None else goals
        change_agent(session, agent, platform=agent.agent_platform, config=config, goals=wanted)
        check_agent(session, agent)
        return agent


PIPELINE_ENDINGS = (".yaml", ".yml", ".json", ".py")
PIPELINE_PLATFORM = "web"
_KEPT = re.compile(r"[A-Za-z0-9_.-]+@[0-9]*")


def pipeline_facts(
    target: str, inputs: Mapping[str, JSONValue], goals: str | None, *, project: str | None
) -> AgentFacts | None:
    """Return the agent made from a pipeline, which is not needed afterwards; None if an agent is meant.

    Args:
        target: A file, ``shop@2`` for that version of a stored pipeline, ``shop@`` for its newest.
        inputs: Inputs of the pipeline.
        goals: Goals of the agent.
        project: Holds the pipelines; by default the project of the settings.

    Raises:
        SpecError: The pipeline cannot be used.
        PipelineInputError: The inputs differ from its declaration.
        OptionError: The target is a URL.
        UnknownPipelineError: No stored pipeline has that name or version.
    """
    if is_url(target):
        raise OptionError(
            f"{shown(target)} is a page, not a pipeline; look at it with `agentic pipelines try URL`, or let "
            "`agentic pipelines build URL --pick 1 --out FILE.yaml` write a pipeline for it"
        )
    if not target.endswith(PIPELINE_ENDINGS) and _KEPT.fullmatch(target) is None:
        return None
    from agentic.core.pipeline import read_inputs
    from agentic.executors.agents.catalog import AgentFacts
    from agentic.executors.commands.pipelines import read_pipeline

    spec = read_pipeline(target.removesuffix("@"), project)
    read_inputs(spec, inputs)
    pipeline: dict[str, JSONValue] = spec.model_dump(mode="json", exclude_unset=True, by_alias=True)
    config: dict[str, JSONValue] = {"pipeline": pipeline, "inputs": dict(inputs)}
    return AgentFacts(name=spec.name, platform=PIPELINE_PLATFORM, config=config, goals=goals)

"""``agentic evals run``: an evaluation, here or on a worker."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.agents.specs.spec import ModelChoice
from agentic.core.cli import console, err_console, print_json
from agentic.core.evals.cases import tries_of
from agentic.core.evals.loading import load_eval
from agentic.core.evals.workflow import CASE_ENDED
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.settings import Settings, load_settings
from agentic.core.terminal import harmless
from agentic.core.types import JSONValue
from agentic.executors.commands.run.outcome import PARTIAL_EXIT_CODE
from agentic.executors.commands.run.running import checked_dispatcher, interruptions_told, print_queued
from agentic.executors.commands.shared.database import ensured_project, opened, ready_database
from agentic.executors.commands.shared.finding import AgentChangedError, find_unfinished
from agentic.executors.commands.shared.options import (
    AsJson,
    By,
    DispatcherKind,
    InProject,
    OptionError,
)
from agentic.plugins.evals.commands.runs import list_runs
from agentic.plugins.evals.commands.showing import failure_line, print_run, run_data
from agentic.plugins.evals.executor import PLATFORM_NAME, all_cases
from agentic.plugins.evals.rows import read_results, result_of
from agentic.plugins.evals.settings import EvalSettings, config_of

if TYPE_CHECKING:
    from agentic.executors.agents.outcome import EventListener, ExecutionOutcome
    from agentic.mappers import AgentModel, Database, ExecutionModel

SHOWN_WARNINGS = 5


def run(  # noqa: PLR0913  # one parameter for each option
    file: Annotated[Path, typer.Argument(metavar="FILE", help="YAML or JSON file of an evaluation.")],
    *,
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER:NAME", help="Model of the agent or actor instead of its own."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the evaluation instead of its own.")
    ] = None,
    repeats: Annotated[int | None, typer.Option(min=1, max=100, help="Tries of each case.")] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Record replies; ask only for those not recorded yet.")
    ] = False,
    replay: Annotated[
        bool, typer.Option("--replay", help="Replay recorded replies, at no cost; never ask a model.")
    ] = False,
    recordings: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of recorded replies. Default: beside FILE."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the newest run: tries that have ended are kept.")
    ] = False,
    dispatcher: By = DispatcherKind.LOCAL,
    project: InProject = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run an evaluation and show its result; exit code 1 below a limit, 4 if some cases failed.

    Each answered case is a row in `eval_cases`. A run that is killed
    continues with --resume, and asks no answered case again.
    """
    if record and replay:
        raise OptionError("--record asks models, --replay never does; give one of them")
    if resume and dispatcher is DispatcherKind.CELERY:
        raise OptionError("--resume continues in this process; workers continue killed runs by themselves")
    spec = _changed(load_eval(file, EvalSettings, runs_code=True), model, name, repeats)
    spec = _with_replies(spec, recordings, record=record, replay=replay)
    settings = load_settings()
    workers = checked_dispatcher(settings) if dispatcher is DispatcherKind.CELERY else None
    with opened(ready_database(settings)) as database:
        agent = _put(database, settings, project, spec)
        # Faults are reported before anything runs.
        tries = tries_of(all_cases(spec, database, agent.project_id), spec.repeats)
        if workers is not None:
            print_queued(workers.submit(database, agent), agent, as_json=as_json)
            return
        execution = _execution(database, agent, resumes=resume)
        options = {
            "--project": project,
            "--model": model,
            "--name": name,
            "--repeats": repeats,
            "--recordings": recordings,
        }
        again = _again(file, options, {"--record": record, "--replay": replay})
        shown = Shown(title=spec.name, tries=len(tries), is_quiet=quiet)
        outcome = _run(database, settings, execution, again, shown)
        _print(database, agent, outcome, as_json=as_json, is_quiet=quiet)


def _changed(spec: EvalSettings, model: str | None, name: str | None, repeats: int | None) -> EvalSettings:
    """Return the evaluation with the options of the command line.

    Raises:
        EvalError: It has no model to replace.
        OptionError: An option does not fit.
    """
    data = config_of(spec)
    if model is not None:
        if ":" not in model.strip(":"):
            raise OptionError(f"--model takes PROVIDER:NAME, such as openai:gpt-5, not {model!r}")
        context = {"folder": Path.cwd(), "runs_code": True}
        found = ModelChoice.model_validate({"model": model}, context=context)
        task = spec.task.with_model(found.model)
        data["task"] = task.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if name is not None:
        data["name"] = name
    if repeats is not None:
        data["repeats"] = repeats
    return spec if (model, name, repeats) == (None, None, None) else _read(data)


def _read(data: Mapping[str, object]) -> EvalSettings:
    from pydantic import ValidationError

    from agentic.core.evals.loading import faults_in

    try:
        return EvalSettings.model_validate(data)
    except ValidationError as exc:
        raise OptionError(f"the options do not fit: {'; '.join(map(str, faults_in(exc)))}") from None


def _with_replies(spec: EvalSettings, recordings: Path | None, *, record: bool, replay: bool) -> EvalSettings:
    from agentic.core.actors.own_code import own_file

    changes: dict[str, object] = {}
    if recordings is not None:
        changes["recordings"] = own_file(str(recordings), Path.cwd(), is_trusted=True)
    if record or replay:
        changes["replies"] = "record" if record else "replay"
    return spec.model_copy(update=changes) if changes else spec


def _put(database: Database, settings: Settings, project: str | None, spec: EvalSettings) -> AgentModel:
    from agentic.executors.agents.catalog import AgentFacts, find_named, put_agent

    facts = AgentFacts(name=spec.name, platform=PLATFORM_NAME, config=config_of(spec))
    with database.writing() as session:
        owner = ensured_project(session, project, settings)
        known = find_named(session, owner, spec.name)
        if known is not None and known.agent_platform != PLATFORM_NAME:
            raise OptionError(
                f"agent {spec.name!r} of project {owner.name!r} belongs to platform "
                f"{known.agent_platform!r}; give the evaluation another name, with --name"
            )
        return put_agent(session, owner, facts, replace=True)


def _execution(database: Database, agent: AgentModel, *, resumes: bool) -> ExecutionModel:
    from agentic.mappers import create_execution

    if resumes:
        try:
            found = find_unfinished(database, agent)
        except AgentChangedError as exc:
            raise OptionError(
                f"evaluation {agent.agent_name!r} has changed since its newest run began; give the same "
                "options as then, or leave out --resume to start over"
            ) from exc
        if found is None:
            raise OptionError(
                f"evaluation {agent.agent_name!r} has no run to continue; leave out --resume for a new one"
            )
        return found
    with database.writing() as session:
        return create_execution(session, agent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The progress that people see while an evaluation runs.

    Attributes:
        title: Its name.
        tries: Tries in all.
        is_quiet: Show nothing.
    """

    title: str
    tries: int
    is_quiet: bool


def _run(
    database: Database, settings: Settings, execution: ExecutionModel, again: str, shown: Shown
) -> ExecutionOutcome:
    from agentic.executors.agents.local import run_locally
    from agentic.executors.commands.run.progress import shown_progress

    with database.reading() as session:
        before = len(read_results(session, execution.project_id, execution.id))
    with (
        interruptions_told(database, execution, again),
        shown_progress(shown.title, quiet=shown.is_quiet) as hear,
    ):
        counted = count_tries(hear, before, shown.tries)
        return run_locally(execution, database=database, settings=settings, on_event=counted)


def count_tries(hear: EventListener, done: int, total: int) -> EventListener:
    """Return a listener that also reports each ended try as progress: a graph reports at its barriers only.

    Args:
        hear: Gets all events.
        done: Tries that ended in an earlier process.
        total: Tries in all.
    """
    ended = done

    def counting(event: WorkflowEvent) -> None:
        nonlocal ended
        hear(event)
        if event.kind is EventKind.CUSTOM and event.data.get("type") == CASE_ENDED:
            ended += 1
            data: dict[str, JSONValue] = {"done": min(ended, total), "total": total}
            hear(
                WorkflowEvent(EventKind.EXECUTOR_PROGRESS, event.run_id, event.time, path="tries", data=data)
            )

    return counting


def _print(
    database: Database, agent: AgentModel, outcome: ExecutionOutcome, *, as_json: bool, is_quiet: bool
) -> None:
    """Print a run that has ended; end with the exit code of its status.

    Raises:
        ExecutionFailedError: It failed.
        Exit: With ``PARTIAL_EXIT_CODE``, if some tries failed.
    """
    from agentic.executors.errors import ExecutionFailedError

    with database.reading() as session:
        run = next(iter(list_runs(session, agent.project_id, run_id=outcome.execution_id)), None)
        rows = read_results(session, agent.project_id, outcome.execution_id)
        results = [result_of(row) for row in rows]
    if as_json:
        data = {} if run is None else run_data(run, results)
        print_json({**outcome.to_dict(), **data, "warnings": list(outcome.warnings)})
    elif run is not None and not is_quiet:
        print_run(run, results)
    for warning in outcome.warnings[:SHOWN_WARNINGS]:
        err_console.print(harmless(f"warning: {warning}"), style="yellow", markup=False, soft_wrap=True)
    if outcome.status == "failed":
        raise ExecutionFailedError(outcome.error or outcome.reason or "it failed")
    if outcome.reason and not as_json and not is_quiet:
        console.print(failure_line(outcome.reason), soft_wrap=True)
    if outcome.status == "partial":
        raise typer.Exit(PARTIAL_EXIT_CODE)


def _again(file: Path, options: Mapping[str, object], flags: Mapping[str, bool]) -> str:
    """Return the command that continues a run."""
    words = ["agentic", "evals", "run", str(file)]
    for option, value in options.items():
        words += [] if value is None else [option, str(value)]
    words += [flag for flag, is_set in flags.items() if is_set]
    return shlex.join([*words, "--resume"])

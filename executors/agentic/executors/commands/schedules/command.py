"""``agentic schedules``: times when agents run by themselves. Beat notices a change within seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agentic.core.cli import console, print_json, print_rows
from agentic.core.settings import load_settings
from agentic.executors.commands.shared.completing import agent_names, schedule_names
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.commands.shared.options import AsJson, InProject, OptionError, checked_name

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.mappers import ScheduleModel
    from agentic.mappers.catalog.schedules import Timing

schedules = typer.Typer(help="Manage schedules (automatic runs of agents).", no_args_is_help=True)

COLUMNS = ("name", "agent", "times", "overlap", "state", "next_due", "last_due", "skipped")

Name = Annotated[str, typer.Argument(help="Schedule name.", autocompletion=schedule_names)]

AgentName = Annotated[str, typer.Option(help="Name or id of the agent to run.", autocompletion=agent_names)]
Cron = Annotated[
    str | None, typer.Option(metavar="LINE", help="Minute, hour, day, month, weekday: '*/5 * * * *'.")
]
Every = Annotated[str | None, typer.Option(metavar="TIME", help="An interval: 90s, 15m, 1h, 1d.")]
Zone = Annotated[str, typer.Option(metavar="ZONE", help="Time zone of --cron, e.g. Europe/Berlin.")]
Jitter = Annotated[int, typer.Option(min=0, max=86_400, help="Delay each start by up to N seconds.")]
Missed = Annotated[Literal["none", "last", "all"], typer.Option(help="Missed due times to catch up.")]
Overlapping = Annotated[
    Literal["skip", "queue", "allow"],
    typer.Option(help="If the last execution still runs: skip, queue one, or start anyway."),
]


@schedules.command()
def add(  # noqa: PLR0913  # one parameter for each option
    name: Name,
    *,
    agent: AgentName,
    cron: Cron = None,
    every: Every = None,
    timezone: Zone = "UTC",
    jitter: Jitter = 0,
    catch_up: Missed = "last",
    overlap: Overlapping = "skip",
    project: InProject = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the schedule if it exists.")] = False,
) -> None:
    """Add a schedule: run an agent by a cron line or at an interval."""
    from agentic.executors.commands.schedules.changes import AddedSchedule, put_schedule

    checked_name(name, "a schedule")
    added = AddedSchedule(
        name=name,
        agent=agent,
        times=_read_times(cron, every),
        timezone=timezone,
        jitter_s=jitter,
        catch_up=catch_up,
        overlap=overlap,
    )
    row = put_schedule(added, project, replace=replace)
    _say(f"schedule {name} runs agent {row['agent']}, the next time at {row['next_due']}")
    if (catch_up, overlap) == ("all", "skip"):
        _say("while one runs, missed due times are skipped; --overlap allow runs each of them")


@schedules.command()
def edit(  # noqa: PLR0913  # one parameter for each option
    name: Name,
    *,
    cron: Cron = None,
    every: Every = None,
    timezone: Zone | None = None,
    jitter: Jitter | None = None,
    catch_up: Missed | None = None,
    overlap: Overlapping | None = None,
    project: InProject = None,
) -> None:
    """Change the given parts of a schedule; new times count from now."""
    from agentic.executors.commands.schedules.changes import edit_schedule
    from agentic.mappers import CatchUp, Overlap

    changes: Timing = _read_times(cron, every) if cron or every else {}
    if timezone is not None:
        changes["timezone"] = timezone
    if jitter is not None:
        changes["jitter_s"] = jitter
    if catch_up is not None:
        changes["catch_up"] = CatchUp(catch_up)
    if overlap is not None:
        changes["overlap"] = Overlap(overlap)
    if not changes:
        raise OptionError(f"nothing to change in schedule {name!r}; give --overlap queue, for example")
    row = edit_schedule(name, project, changes)
    _say(f"schedule {name} is changed, the next time is {row['next_due']}")


@schedules.command("list")
def list_them(*, project: InProject = None, as_json: AsJson = False) -> None:
    """List the schedules of a project with previous and next due times."""
    from agentic.executors.commands.schedules.views import schedule_row
    from agentic.mappers import find_project, list_schedules
    from agentic.mappers.catalog.schedules import store_now

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        now = store_now(session)
        rows = [schedule_row(schedule, now) for schedule in list_schedules(session, owner.id)]
    print_rows(f"Schedules of {owner.name}", COLUMNS, rows, as_json=as_json)


@schedules.command()
def show(name: Name, *, project: InProject = None, as_json: AsJson = False) -> None:
    """Show a schedule."""
    from agentic.executors.commands.schedules.views import schedule_row
    from agentic.mappers import find_project, find_schedule
    from agentic.mappers.catalog.schedules import store_now

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        row = schedule_row(find_schedule(session, owner, name), store_now(session))
    if as_json:
        print_json(row)
    else:
        print_rows(name, ["field", "value"], [{"field": key, "value": value} for key, value in row.items()])


@schedules.command("next")
def show_next(
    name: Name,
    *,
    count: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 5,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Print the next due times of a schedule, even if it is paused."""
    from agentic.executors.commands.schedules.views import firing_rows
    from agentic.mappers import find_project, find_schedule
    from agentic.mappers.catalog.schedules import store_now

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        rows = firing_rows(find_schedule(session, owner, name), store_now(session), count)
    print_rows(f"Next due times of {name}", ["due_at", "due_at_utc", "starts_at"], rows, as_json=as_json)


@schedules.command()
def pause(name: Name, *, project: InProject = None) -> None:
    """Pause a schedule: nothing starts until it is resumed."""
    from agentic.mappers import pause_schedule

    _change(name, project, pause_schedule)
    _say(f"schedule {name} is paused; resume it with `agentic schedules resume {name}`")


@schedules.command()
def resume(name: Name, *, project: InProject = None) -> None:
    """Resume a paused schedule; missed due times are not caught up."""
    from agentic.mappers import resume_schedule

    _change(name, project, resume_schedule)
    _say(f"schedule {name} is resumed")


@schedules.command()
def remove(name: Name, *, project: InProject = None) -> None:
    """Remove a schedule; its agent and executions stay."""
    from agentic.mappers.catalog.schedules import remove_schedule

    _change(name, project, lambda session, found: remove_schedule(session, found.agent.project, found.name))
    _say(f"removed schedule {name}")


def _read_times(cron: str | None, every: str | None) -> Timing:
    from agentic.executors.schedules.times import read_interval

    if cron is not None and every is None:
        return {"cron": " ".join(cron.split())}
    if every is not None and cron is None:
        return {"every_s": read_interval(every)}
    raise OptionError("a schedule takes either --cron '*/5 * * * *' or --every 15m; give one of them")


def _change(name: str, project: str | None, act: Callable[[Session, ScheduleModel], None]) -> None:
    from agentic.mappers import find_project, find_schedule

    settings = load_settings()
    with opened(current_database(settings)) as database, database.writing() as session:
        owner = find_project(session, project or settings.project)
        act(session, find_schedule(session, owner, name))


def _say(line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)

"""``--reread``: reads the stored pages of a crawl again, with the rules of the agent as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.cli import err_console
from agentic.core.ids import SHORT_CHARS
from agentic.core.types import RunId
from agentic.executors.commands.executions.choice import ENDED
from agentic.executors.commands.runs.steering import Desk
from agentic.executors.errors import ExecutionNotRunnableError

if TYPE_CHECKING:
    from sqlalchemy import Select
    from sqlalchemy.orm import Session

    from agentic.mappers import AgentModel, ExecutionModel


def reread(desk: Desk, execution: ExecutionModel, agent: AgentModel, *, fetches: bool) -> ExecutionModel:
    """Make an execution that reads the stored pages of another one again.

    Args:
        desk: The project's desk.
        execution: The execution whose crawl fetched the pages.
        agent: Its agent.
        fetches: Whether it also fetches failed pages, pages that were never fetched, and new ones.

    Raises:
        ExecutionNotRunnableError: It is running, or none of its pages is stored.
        AgentDisabledError: The agent is disabled.
    """
    _check_ended(execution)
    return _reread(desk, execution, agent, fetches=fetches)


def check_reread(desk: Desk, execution: ExecutionModel, agent: AgentModel) -> None:
    """Refuse an execution whose pages cannot be read again; see :func:`reread`."""
    _check_ended(execution)
    with desk.database.reading() as session:
        _bodies(session, execution, agent)


def resume_reread(desk: Desk, agent: AgentModel, *, as_changed: bool) -> ExecutionModel:
    """Return the execution for ``--resume --reread``: it reads stored pages, and fetches the remaining ones.

    One that was cut off continues; otherwise a new one takes over the pages of the newest.

    Raises:
        AgentChangedError: The agent has changed since an unfinished execution began, without the option.
        ExecutionNotRunnableError: None of its pages is stored.
        OptionError: The agent has no execution.
    """
    from agentic.executors.commands.shared.finding import AgentChangedError, find_unfinished
    from agentic.executors.commands.shared.options import OptionError
    from agentic.mappers import list_executions
    from agentic.mappers.catalog.rereads import is_reread

    try:
        unfinished = find_unfinished(desk.database, agent)
    except AgentChangedError:
        if not as_changed:
            raise
        unfinished = None
    with desk.database.reading() as session:
        if unfinished is not None and is_reread(session, unfinished):
            return unfinished
        found = list_executions(session, desk.project_id, 1, agent_id=agent.id)
    if not found:
        raise OptionError(
            f"--reread reads the stored pages of an earlier execution, and agent {agent.agent_name!r} has "
            "none; leave --reread out"
        )
    made = _reread(desk, found[0], agent, fetches=True)
    if found[0].status not in ENDED:
        _cancel(desk, found[0])
    return made


def say_plan(desk: Desk, made: ExecutionModel, earlier: ExecutionModel) -> None:
    """Print on standard error how many pages a new execution reads from storage, fetches and keeps."""
    from agentic.mappers.tables.core import CrawlModel

    with desk.database.reading() as session:
        crawl = session.get(CrawlModel, (made.project_id, made.id))
    if crawl is None:
        return
    waiting = crawl.total - crawl.done - crawl.failed - crawl.to_reread
    counts = {
        "to read from storage": crawl.to_reread,
        "to fetch": 0 if crawl.is_offline else waiting,
        "unchanged": crawl.done,
    }
    parts = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "none"
    line = f"pages of execution {earlier.id[:SHORT_CHARS]}: {parts}"
    err_console.print(line, markup=False, highlight=False, soft_wrap=True)


def _reread(desk: Desk, execution: ExecutionModel, agent: AgentModel, *, fetches: bool) -> ExecutionModel:
    from agentic.mappers import find_agent
    from agentic.mappers.catalog.rereads import reread_pages

    with desk.database.writing() as session:
        bodies = _bodies(session, execution, agent)
        owner = find_agent(session, desk.project_id, agent.id)
        made = reread_pages(session, execution, owner, bodies, fetches=fetches)
    say_plan(desk, made, execution)
    return made


def _cancel(desk: Desk, execution: ExecutionModel) -> None:
    from agentic.executors.commands.runs.command import cancel_run
    from agentic.mappers.catalog.executions import cancel_unbegun

    with desk.database.writing() as session:
        is_unbegun = cancel_unbegun(session, desk.project_id, execution.id)
    if not is_unbegun:
        cancel_run(desk, RunId(execution.id), "its stored pages are read again")


def _check_ended(execution: ExecutionModel) -> None:
    if execution.status not in ENDED:
        raise ExecutionNotRunnableError(
            execution.id,
            f"it is {execution.status}; cancel it with `agentic executions cancel {execution.id}`, then read "
            "its pages again",
        )


def _bodies(session: Session, execution: ExecutionModel, agent: AgentModel) -> Select[str]:
    """Return the query for stored pages, if some pages of the execution are among them."""
    from agentic.executors.agents.factory import ExecutorFactory
    from agentic.executors.agents.pipeline import PipelineAgentExecutor
    from agentic.mappers.catalog.rereads import count_stored_pages

    executor = ExecutorFactory.create(agent, execution_id=execution.id)
    bodies = executor.stored_bodies() if isinstance(executor, PipelineAgentExecutor) else None
    count = count_stored_pages(session, execution, bodies)
    if bodies is None or not count.stored:
        raise ExecutionNotRunnableError(
            execution.id,
            f"it has no stored pages to read again ({count.unstored:,} were fetched); set "
            "`store: {html: true}` in the crawl step, and crawl again",
        )
    return bodies

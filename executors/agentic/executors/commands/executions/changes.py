"""``agentic executions retry``, ``cancel`` and ``remove``: one execution, several, or all that match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.graph import RunEndedError
from agentic.core.types import RunId
from agentic.executors.commands.executions.choice import (
    BROKEN,
    ENDED,
    LIVE,
    All,
    ExecutionSelection,
    Ids,
    OfAgent,
    OfPlatform,
    Since,
    WithStatus,
)
from agentic.executors.commands.run.running import (
    check_unfinished,
    checked_dispatcher,
    print_queued,
    run_here,
)
from agentic.executors.commands.runs.command import Reason, cancel_run
from agentic.executors.commands.runs.steering import Desk, opened_desk
from agentic.executors.commands.shared.bulk import BulkOptions
from agentic.executors.commands.shared.options import (
    AsJson,
    By,
    DispatcherKind,
    DryRun,
    InProject,
    Unpublished,
    Yes,
)

if TYPE_CHECKING:
    from agentic.executors.durable.runs.service import RunService
    from agentic.mappers import AgentModel, ExecutionModel


def retry(  # noqa: PLR0913  # one parameter for each option
    ids: Ids = None,
    *,
    agent: OfAgent = None,
    platform: OfPlatform = None,
    status: WithStatus = None,
    since: Since = None,
    everything: All = False,
    failed: Annotated[
        bool,
        typer.Option(
            "--failed",
            help="Fetch the failed pages again, in a new execution, with the agent as it is now.",
        ),
    ] = False,
    reread: Annotated[
        bool,
        typer.Option(
            "--reread",
            help="Read the stored pages again without requests, in a new execution, with the current agent. "
            "With --failed, also fetch failed pages and pages that were never fetched.",
        ),
    ] = False,
    dispatcher: By = DispatcherKind.LOCAL,
    dry_run: DryRun = False,
    yes: Yes = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Continue failed or cancelled executions where they stopped, under the same id.

    If all steps have run and the execution is partial or failed, a new execution
    fetches its failed pages again. With --dispatcher local they run one after the
    other, in this process.
    """
    way = _Way(failed=failed, reread=reread)
    choice = ExecutionSelection(
        ids=ids, agent=agent, platform=platform, statuses=status, since=since, everything=everything
    )
    with opened_desk(project) as desk:
        chosen = choice.found(desk, way.statuses)
        if dispatcher is DispatcherKind.CELERY and not dry_run:
            checked_dispatcher(desk.settings)
        if choice.is_one and not dry_run:
            _retry_one(desk, *chosen[0], dispatcher, way, as_json=as_json)
            return
        act = _hand_over if dispatcher is DispatcherKind.CELERY else _run_on
        bulk_options = BulkOptions(yes=yes, dry_run=dry_run, as_json=as_json)
        choice.each(
            "retry",
            chosen,
            lambda pair: act(desk, _continued(desk, *pair, way), pair[1]),
            bulk_options,
            check=lambda pair: _check_continued(desk, *pair, way),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How executions are retried.

    Attributes:
        failed: Fetch their failed pages again.
        reread: Read their stored pages again.
    """

    failed: bool
    reread: bool

    @property
    def statuses(self) -> Sequence[str]:
        """The statuses of executions that are retried so, unless others are chosen."""
        if self.reread:
            return ENDED
        return (*BROKEN, "partial") if self.failed else BROKEN


def cancel(  # noqa: PLR0913  # one parameter for each option
    ids: Ids = None,
    *,
    agent: OfAgent = None,
    platform: OfPlatform = None,
    status: WithStatus = None,
    since: Since = None,
    everything: All = False,
    reason: Reason = "cancelled by hand",
    dry_run: DryRun = False,
    yes: Yes = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Cancel queued or running executions; running steps are notified within seconds."""
    choice = ExecutionSelection(
        ids=ids, agent=agent, platform=platform, statuses=status, since=since, everything=everything
    )
    with opened_desk(project) as desk:

        def act(pair: tuple[ExecutionModel, AgentModel]) -> str:
            execution, owner = pair
            desk.decide(partial(_begun, execution=execution, agent=owner))
            return cancel_run(desk, RunId(execution.id), reason)

        bulk_options = BulkOptions(yes=yes, dry_run=dry_run, as_json=as_json)
        choice.each("cancel", choice.found(desk, LIVE), act, bulk_options, check=_check_live)


def remove(  # noqa: PLR0913  # one parameter for each option
    ids: Ids = None,
    *,
    agent: OfAgent = None,
    platform: OfPlatform = None,
    status: WithStatus = None,
    since: Since = None,
    everything: All = False,
    unpublished: Unpublished = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Remove ended executions with result, run and dead letters; platform rows stay."""
    from agentic.executors.agents.removing import ExecutionRemoval

    choice = ExecutionSelection(
        ids=ids, agent=agent, platform=platform, statuses=status, since=since, everything=everything
    )
    with opened_desk(project) as desk:
        chosen = choice.found(desk, ENDED)
        # Without NATS, nothing waits for events.
        even_unpublished = unpublished or desk.settings.nats is None
        removal = ExecutionRemoval(desk.database, desk.project_id, even_unpublished=even_unpublished)

        def act(pair: tuple[ExecutionModel, AgentModel]) -> str:
            removal.remove(pair[0], pair[1].agent_name)
            return "removed"

        bulk_options = BulkOptions(yes=yes, dry_run=dry_run, as_json=as_json)
        choice.each(
            "remove",
            chosen,
            act,
            bulk_options,
            loses="everything stored about each, except platform rows",
            check=lambda pair: removal.check(pair[0]),
        )


def _check_enabled(agent: AgentModel) -> None:
    from agentic.mappers.errors import AgentDisabledError

    if agent.disabled_at is not None:
        raise AgentDisabledError(agent.agent_name, agent.project.name)


def _check_live(pair: tuple[ExecutionModel, AgentModel]) -> None:
    execution, _ = pair
    if execution.status not in LIVE:
        raise RunEndedError(execution.id, execution.status, "be cancelled")


def _continued(desk: Desk, execution: ExecutionModel, agent: AgentModel, way: _Way) -> ExecutionModel:
    """Return the execution to run: this one, or a new one for its stored or failed pages.

    Raises:
        AgentDisabledError: The agent is disabled.
        ExecutionNotRunnableError: It has succeeded, no page failed, or none is stored.
    """
    from agentic.executors.commands.executions.failed_pages import retry_failed
    from agentic.executors.commands.executions.rereads import reread

    _check_continued(desk, execution, agent, way)
    if way.reread:
        return reread(desk, execution, agent, fetches=way.failed)
    is_for_pages = _is_for_pages(execution, failed=way.failed)
    return retry_failed(desk, execution, agent) if is_for_pages else execution


def _check_continued(desk: Desk, execution: ExecutionModel, agent: AgentModel, way: _Way) -> None:
    from agentic.executors.commands.executions.rereads import check_reread

    _check_enabled(agent)
    if way.reread:
        check_reread(desk, execution, agent)
    elif not _is_for_pages(execution, failed=way.failed):
        check_unfinished(execution)


def _is_for_pages(execution: ExecutionModel, *, failed: bool) -> bool:
    """Whether only the failed pages of an execution remain."""
    has_ended = execution.status in ENDED
    return (failed and has_ended) or (execution.has_all_results and execution.status != "succeeded")


def _retry_one(  # one parameter for each option
    desk: Desk,
    execution: ExecutionModel,
    agent: AgentModel,
    dispatcher: DispatcherKind,
    way: _Way,
    *,
    as_json: bool,
) -> None:
    execution = _continued(desk, execution, agent, way)
    if dispatcher is DispatcherKind.CELERY:
        _hand_over(desk, execution, agent)
        print_queued(execution, agent, as_json=as_json)
    else:
        run_here(agent, execution, database=desk.database, settings=desk.settings, as_json=as_json)


def _hand_over(desk: Desk, execution: ExecutionModel, agent: AgentModel) -> str:
    desk.decide(partial(_go_on, execution=execution, agent=agent))
    return "queued"


def _run_on(desk: Desk, execution: ExecutionModel, agent: AgentModel) -> str:
    """Run an execution in this process; return how it ended.

    Raises:
        ExecutionFailedError: It failed.
        ExecutionNotRunnableError: It has succeeded.
    """
    from agentic.executors.agents.local import run_locally
    from agentic.executors.commands.run.progress import shown_progress
    from agentic.executors.errors import ExecutionFailedError
    from agentic.mappers import ExecutionStatus

    with shown_progress(agent.agent_name) as hear:
        outcome = run_locally(execution, database=desk.database, settings=desk.settings, on_event=hear)
    if outcome.status is ExecutionStatus.FAILED:
        raise ExecutionFailedError(outcome.error or "it failed again")
    return str(outcome.status)


async def _begun(service: RunService, execution: ExecutionModel, agent: AgentModel) -> bool:
    """Start the run of an execution, if it has not begun; return whether it did."""
    from agentic.executors.agents.runner import take_up

    run = await service.host.ledger_executor.do(lambda ledger: ledger.run(RunId(execution.id)))
    if run is None:
        await take_up(service, execution, agent)
    return run is None


async def _go_on(service: RunService, execution: ExecutionModel, agent: AgentModel) -> None:
    """Start or continue the run of an execution."""
    from agentic.executors.durable.runs.control import retry as run_again

    if not await _begun(service, execution, agent):
        await run_again(service.host, RunId(execution.id))

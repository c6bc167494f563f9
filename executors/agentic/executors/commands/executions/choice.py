"""Chooses the executions of a command: named ones, or all that match filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.executors.commands.runs.steering import Desk
from agentic.executors.commands.shared.bulk import Batch, BulkOptions
from agentic.executors.commands.shared.completing import agent_names, execution_ids, platform_names, statuses
from agentic.executors.commands.shared.finding import find_with_agent
from agentic.executors.commands.shared.moments import moment_of
from agentic.executors.commands.shared.options import OptionError

if TYPE_CHECKING:  # sqlalchemy is loaded for a search, not for each command
    from agentic.mappers import AgentModel, ExecutionModel, ExecutionStatus
    from agentic.mappers.catalog.execution_choice import ExecutionFilter

    Pair = tuple[ExecutionModel, AgentModel]

LIVE = ("queued", "running")
BROKEN = ("failed", "cancelled")
ENDED = ("succeeded", "partial", *BROKEN)

Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Execution ids or unique prefixes.", autocompletion=execution_ids),
]
OfAgent = Annotated[
    str | None,
    typer.Option("--agent", metavar="NAME", help="Filter by agent.", autocompletion=agent_names),
]
OfPlatform = Annotated[
    str | None,
    typer.Option("--platform", metavar="NAME", help="Filter by platform.", autocompletion=platform_names),
]
WithStatus = Annotated[
    list[str] | None,
    typer.Option(
        "--status",
        metavar="STATUS",
        help=f"Filter by status: {', '.join((*LIVE, *ENDED))}. Repeatable.",
        autocompletion=statuses,
    ),
]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="Created since: 2h ago, or 2026-05-01T12:00 in UTC.")
]
All = Annotated[bool, typer.Option("--all", help="All executions of the project.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSelection:
    """A command's options that choose executions."""

    ids: Sequence[str] | None = None
    agent: str | None = None
    platform: str | None = None
    statuses: Sequence[str] | None = None
    since: str | None = None
    everything: bool = False

    @property
    def is_one(self) -> bool:
        """Whether a single execution is named."""
        return self.ids is not None and len(self.ids) == 1

    def check(self) -> None:
        """Make sure that executions are chosen.

        Raises:
            OptionError: They are not, or in two ways.
        """
        is_filter = any((self.agent, self.platform, self.statuses, self.since))
        if bool(self.ids) + is_filter + self.everything != 1:
            raise OptionError(
                "no executions selected; name them, choose them by --agent, --platform, --status or "
                "--since, or give --all"
            )

    def filter(self, desk: Desk, usual: Sequence[str] = ()) -> ExecutionFilter:
        """Return the filter to search with.

        Args:
            desk: The project's desk.
            usual: The default statuses.

        Raises:
            UnknownAgentError: The agent does not exist.
            UnknownPlatformError: The platform does not exist.
            OptionError: The time is invalid.
        """
        from agentic.core.hooks import get_registry
        from agentic.mappers import find_agent
        from agentic.mappers.catalog.execution_choice import ExecutionFilter

        with desk.database.reading() as session:
            agent_id = None if self.agent is None else find_agent(session, desk.project_id, self.agent).id
        since = None if self.since is None else datetime.fromtimestamp(moment_of(desk, self.since), UTC)
        if self.platform is not None:
            get_registry().platform(self.platform)
        return ExecutionFilter(
            agent_id=agent_id,
            platform=self.platform,
            statuses=[_status(name) for name in self.statuses or usual],
            since=since,
        )

    def found(self, desk: Desk, usual: Sequence[str] = ()) -> list[Pair]:
        """Return the executions, each with its agent.

        Raises:
            OptionError: No executions are chosen.
            UnknownExecutionError: An id is unknown.
        """
        from agentic.mappers import list_agents
        from agentic.mappers.catalog.execution_choice import choose_executions

        self.check()
        if self.ids:
            named = [find_with_agent(desk, execution_id) for execution_id in self.ids]
            return list({execution.id: (execution, agent) for execution, agent in named}.values())
        wanted = self.filter(desk, usual)
        with desk.database.reading() as session:
            agents = {agent.id: agent for agent in list_agents(session, desk.project_id)}
            chosen = choose_executions(session, desk.project_id, wanted)
        return [(execution, agents[execution.agent_id]) for execution in chosen]

    def each(
        self,
        verb: str,
        chosen: Sequence[Pair],
        act: Callable[[Pair], str],
        bulk_options: BulkOptions,
        *,
        loses: str = "",
        check: Callable[[Pair], None] | None = None,
    ) -> None:
        """Act on one execution after the other; see :class:`Batch`."""
        Batch(
            things=("execution", "executions"),
            verb=verb,
            chosen=[(execution.id, (execution, agent)) for execution, agent in chosen],
            act=act,
            is_named=bool(self.ids),
            loses=loses,
            check=check,
        ).run(bulk_options)


def _status(name: str) -> ExecutionStatus:
    from agentic.mappers import ExecutionStatus

    try:
        return ExecutionStatus(name)
    except ValueError:
        known = ", ".join(ExecutionStatus)
        raise OptionError(f"--status: {name!r} is not a status; use {known}") from None

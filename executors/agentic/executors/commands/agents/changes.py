"""``agentic agents edit``, ``enable``, ``disable`` and ``remove``: one agent, several, or all that match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.settings import load_settings
from agentic.executors.commands.shared.bulk import Batch, BulkOptions
from agentic.executors.commands.shared.completing import agent_names, platform_names
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.commands.shared.options import (
    AsJson,
    DryRun,
    InProject,
    OptionError,
    Unpublished,
    Yes,
    read_values,
)

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.mappers import AgentModel, Database, ProjectModel

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Agent names or ids.", autocompletion=agent_names),
]
OfPlatform = Annotated[
    str | None,
    typer.Option(
        "--platform", metavar="NAME", help="All agents of this platform.", autocompletion=platform_names
    ),
]
All = Annotated[bool, typer.Option("--all", help="All agents of the project.")]
THINGS = ("agent", "agents")


def add_changes(agents: typer.Typer) -> None:
    """Add the commands to ``agentic agents``."""
    agents.command()(edit)
    agents.command()(enable)
    agents.command()(disable)
    agents.command()(remove)


def edit(  # noqa: PLR0913  # one parameter for each option
    names: Names = None,
    *,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE|@FILE", help="Config values to change; others stay."),
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Config keys to reset to their default.")
    ] = None,
    goals: Annotated[str | None, typer.Option(help="New goals (comma-separated).")] = None,
    platform: OfPlatform = None,
    everything: All = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Change the config or goals of agents; the result is checked first, also with --dry-run."""
    from agentic.executors.agents.catalog import AgentFacts, put_agent

    values = read_values(config or (), "--config")
    if not values and not unset and goals is None:
        raise OptionError("nothing to change; give --config, --unset or --goals")

    def change(session: Session, agent: AgentModel) -> str:
        before = (dict(agent.config), agent.goals)
        kept = {key: value for key, value in agent.config.items() if key not in (unset or ())}
        facts = AgentFacts(
            name=agent.agent_name, platform=agent.agent_platform, config={**kept, **values}, goals=goals
        )
        changed = put_agent(session, agent.project, facts, replace=True)
        is_same = before == (changed.config, changed.goals)
        if dry_run:
            session.rollback()
            return "would not change" if is_same else "would be changed"
        return "unchanged" if is_same else "changed"

    chosen = _Chosen(names, platform, everything=everything, project=project)
    chosen.each("edit", change, BulkOptions(yes=yes or dry_run, as_json=as_json))


def enable(  # noqa: PLR0913  # one parameter for each option
    names: Names = None,
    *,
    platform: OfPlatform = None,
    everything: All = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Enable agents; their schedules continue from now on."""
    from agentic.mappers.catalog.projects import enable_agent

    def change(session: Session, agent: AgentModel) -> str:
        return "enabled" if enable_agent(session, agent) else "was enabled"

    chosen = _Chosen(names, platform, everything=everything, project=project)
    chosen.each("enable", change, BulkOptions(yes=yes, dry_run=dry_run, as_json=as_json))


def disable(  # noqa: PLR0913  # one parameter for each option
    names: Names = None,
    *,
    platform: OfPlatform = None,
    everything: All = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Disable agents: no new executions, by hand or by schedule. Running ones continue."""
    from agentic.mappers.catalog.projects import disable_agent

    def change(session: Session, agent: AgentModel) -> str:
        return "disabled" if disable_agent(session, agent) else "was disabled"

    chosen = _Chosen(names, platform, everything=everything, project=project)
    chosen.each("disable", change, BulkOptions(yes=yes, dry_run=dry_run, as_json=as_json))


def remove(  # noqa: PLR0913  # one parameter for each option
    names: Names = None,
    *,
    platform: OfPlatform = None,
    everything: All = False,
    unpublished: Unpublished = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Remove agents with their executions and results; rows in platform tables stay."""
    from agentic.executors.agents.removing import ExecutionRemoval

    with _Chosen(names, platform, everything=everything, project=project).opened() as (agents, database):
        # Without NATS, nothing waits for events.
        even_unpublished = unpublished or load_settings().nats is None

        def removal(agent: AgentModel) -> ExecutionRemoval:
            return ExecutionRemoval(database, agent.project_id, even_unpublished=even_unpublished)

        def act(agent: AgentModel) -> str:
            removal(agent).remove_agent(agent)
            return "removed"

        Batch(
            things=THINGS,
            verb="remove",
            chosen=[(agent.agent_name, agent) for agent in agents],
            act=act,
            is_named=bool(names),
            loses="all executions and results",
            check=lambda agent: removal(agent).check_agent(agent),
        ).run(BulkOptions(yes=yes, dry_run=dry_run, as_json=as_json))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The agents of a command: by name, or all of a platform or of the project."""

    names: Sequence[str] | None
    platform: str | None
    _: KW_ONLY
    everything: bool
    project: str | None

    def each(self, verb: str, act: Callable[[Session, AgentModel], str], bulk_options: BulkOptions) -> None:
        """Change one after the other, each in its own transaction.

        Raises:
            OptionError: No agents are chosen.
            UnknownAgentError: An agent does not exist; none is changed.
        """
        from agentic.mappers import find_agent

        with self.opened() as (agents, database):

            def change(agent: AgentModel) -> str:
                with database.writing() as session:
                    return act(session, find_agent(session, agent.project_id, agent.id))

            Batch(
                things=THINGS,
                verb=verb,
                chosen=[(agent.agent_name, agent) for agent in agents],
                act=change,
                is_named=bool(self.names),
            ).run(bulk_options)

    @contextmanager
    def opened(self) -> Iterator[tuple[Sequence[AgentModel], Database]]:
        """Yield the agents and their database. Raises as :meth:`each`."""
        from agentic.mappers import find_project

        self._check()
        settings = load_settings()
        with opened(current_database(settings)) as database:
            with database.reading() as session:
                owner = find_project(session, self.project or settings.project)
                agents = self._found(session, owner)
            yield agents, database

    def _check(self) -> None:
        if bool(self.names) + bool(self.platform) + self.everything != 1:
            raise OptionError("no agents selected; name them, or give either --platform NAME or --all")

    def _found(self, session: Session, owner: ProjectModel) -> list[AgentModel]:
        from agentic.mappers import find_agent, list_agents

        if self.names:
            named = [find_agent(session, owner.id, name) for name in self.names]
            return list({agent.id: agent for agent in named}.values())
        return [
            agent for agent in list_agents(session, owner.id) if self.platform in (None, agent.agent_platform)
        ]

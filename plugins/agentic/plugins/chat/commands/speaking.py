"""A conversation on the command line: one agent, one person, threads and turns in SQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic.core.agents.errors import OutputNotMetError
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import AgentInput
from agentic.core.agents.responses import AgentChunk, AgentResponse
from agentic.core.agents.specs.loading import usable_name
from agentic.core.agents.specs.spec_agent import SpecAgent
from agentic.core.agents.threads.store import StoredThread
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.settings import load_settings
from agentic.core.threads import in_thread
from agentic.executors.commands.shared.database import ensured_project, opened, ready_database
from agentic.executors.commands.shared.options import OptionError
from agentic.mappers import AgentModel, Database, SqlThreadStore, find_agent
from agentic.plugins.chat.executor import PLATFORM_NAME, ChatAgentExecutor, is_active, make_agent
from agentic.plugins.chat.node import ThreadTakenError, execution_of
from agentic.plugins.chat.resources import OF_EXECUTIONS, LateResources, store_turn
from agentic.plugins.chat.settings import ChatSettings, load_config

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.mappers import ProjectModel

FILE_ENDINGS = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """An agent that a person speaks to.

    Attributes:
        given: As on the command line: the name of an agent, or a file.
        row: Its row; of a file, one that is not stored.
        settings: Its config.
        agent: The agent.
        database: Holds threads and turns.
        user_id: The person.
        resources: Services for its tools.
    """

    given: str
    row: AgentModel
    settings: ChatSettings
    agent: SpecAgent
    database: Database
    user_id: str
    resources: LateResources

    @property
    def store(self) -> SqlThreadStore:
        """The threads of the project."""
        return SqlThreadStore(self.database, project_id=self.row.project_id)

    async def aclose(self) -> None:
        """Close the connections of its models and tools."""
        await self.agent.aclose()
        await self.resources.aclose()

    async def find_thread(self, thread_id: str | None, *, is_new: bool) -> AgentThread:
        """Return the thread of that id; without one, the person's newest conversation with the agent.

        Raises:
            OptionError: No thread, or more than one, has an id that begins so.
        """
        if is_new:
            return self.agent.new_thread(user_id=self.user_id)
        known = await self.store.list(agent=self.agent.name)
        if thread_id is not None:
            return await AgentThread.load(chosen_thread(known, thread_id), self.store)
        mine = [one for one in known if one.metadata.user_id == self.user_id]
        talks = [one for one in mine if not one.id.startswith(OF_EXECUTIONS)]
        if not talks:
            return self.agent.new_thread(user_id=self.user_id)
        return await AgentThread.load(talks[-1].id, self.store)

    def check_free(self, thread: AgentThread) -> None:
        """Check that no execution is about to answer in a thread.

        Raises:
            ThreadTakenError: One is.
        """
        turn = thread.turn
        if turn is None or turn.ended or not thread.id.startswith(OF_EXECUTIONS):
            return
        execution_id = execution_of(turn.id)
        if is_active(self.database, self.row.project_id, execution_id):
            raise ThreadTakenError(thread.id, execution_id)

    async def speak(self, given: AgentInput, thread: AgentThread) -> AsyncIterator[AgentChunk]:
        """Yield the pieces of the answer; a turn that has ended becomes a row before its last piece.

        A turn whose answer does not fit the schema has stopped, like one at a limit.
        """
        try:
            async for piece in self._pieces(given, thread, None):
                yield piece
        except OutputNotMetError:
            if thread.turn is None:
                raise
            async for piece in self._pieces((), thread, RunOptions(idempotency_key=thread.turn.id)):
                yield piece

    async def _pieces(
        self, given: AgentInput, thread: AgentThread, options: RunOptions | None
    ) -> AsyncIterator[AgentChunk]:
        async with aclosing(self.agent.run_stream(given, thread, options=options)) as pieces:  # type: ignore[type-var]  # a generator
            async for piece in pieces:
                if piece.done and piece.response is not None and not piece.response.pending:
                    await in_thread(self._store, piece.response, _prompt_of(thread, piece.response))
                yield piece

    def _store(self, response: AgentResponse[Any], prompt: str) -> None:
        with self.database.writing() as session:
            store_turn(self.row, self.settings, session, response, prompt, self.user_id)


@contextmanager
def opened_speaker(given: str, project: str | None, user_id: str) -> Iterator[Speaker]:
    """Yield the agent of that name, or in that file.

    Raises:
        UnknownAgentError: The project does not have it.
        AgentSpecError: The file cannot be used.
        OptionError: The agent is of another platform.
    """
    settings = load_settings()
    config = load_config(Path(given)) if given.endswith(FILE_ENDINGS) else None
    with opened(ready_database(settings)) as database:
        with database.writing() as session:
            owner = ensured_project(session, project, settings)
            row = _stored(session, owner, given) if config is None else None
            project_id = owner.id
        if row is None:
            name = str((config or {}).get("name") or usable_name(Path(given).stem))
            row = AgentModel(
                id="", project_id=project_id, agent_name=name, agent_platform=PLATFORM_NAME, config=config
            )
        found = ChatAgentExecutor(row, "").settings
        resources = LateResources(database, project_id)
        agent = make_agent(row, found, database, resources.context)
        yield Speaker(
            given=given,
            row=row,
            settings=found,
            agent=agent,
            database=database,
            user_id=user_id,
            resources=resources,
        )


def chosen_thread(known: Sequence[StoredThread], thread_id: str) -> str:
    """Return the id of the only thread whose id begins with a text.

    Raises:
        OptionError: None does, or several do.
    """
    ids = [one.id for one in known if one.id.startswith(thread_id)]
    if thread_id in ids:
        return thread_id
    if len(ids) != 1 or not thread_id:
        found = "several threads have" if ids else "no thread has"
        raise OptionError(f"{found} an id that begins with {thread_id!r}; see `agentic threads list`")
    return ids[0]


def _stored(session: Session, owner: ProjectModel, name: str) -> AgentModel:
    row = find_agent(session, owner.id, name)
    if row.agent_platform != PLATFORM_NAME:
        raise OptionError(
            f"agent {name!r} is of the platform {row.agent_platform!r}, and only agents of 'chat' can be "
            "spoken to; run it with `agentic run`"
        )
    return row


def _prompt_of(thread: AgentThread, response: AgentResponse[Any]) -> str:
    turn = thread.find_turn(response.turn)
    return turn.messages[0].text if turn is not None and turn.messages else ""

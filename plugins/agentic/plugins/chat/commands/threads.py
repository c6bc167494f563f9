"""``agentic threads``: conversations with agents; export and removal of all data of a person."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import ColumnElement, delete, or_, select
from sqlalchemy.orm import Session

from agentic.core.agents.threads.store import StoredThread
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.cli import console, print_json, print_rows
from agentic.core.llm.messages import ChatMessage
from agentic.core.settings import load_settings
from agentic.core.terminal import harmless, harmless_json
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.commands.shared.options import AsJson, InProject, OptionError, Yes, confirm
from agentic.mappers import Database, SqlThreadStore, find_project
from agentic.mappers.tables.memories import AgentMemoryModel
from agentic.plugins.chat.commands.showing import call_text
from agentic.plugins.chat.commands.speaking import chosen_thread
from agentic.plugins.chat.memories import PersonMemories
from agentic.plugins.chat.models import ChatTurnModel

threads = typer.Typer(
    help="Show, export and delete threads (conversations with agents).", no_args_is_help=True
)

COLUMNS = ("id", "agent", "user", "created_at")
ThreadId = Annotated[str, typer.Argument(metavar="ID", help="Thread id or unique prefix.")]
MaybeThreadId = Annotated[str | None, typer.Argument(metavar="[ID]", help="Thread id or unique prefix.")]
OfUser = Annotated[str | None, typer.Option("--user", metavar="ID", help="All threads of this person.")]


@dataclass(frozen=True, slots=True)
class _Project:
    """The threads, turns and memories of a project."""

    database: Database
    id: str
    name: str

    @property
    def store(self) -> SqlThreadStore:
        return SqlThreadStore(self.database, project_id=self.id)

    def list(self, user: str | None, agent: str | None = None) -> Sequence[StoredThread]:
        return asyncio.run(self.store.list(user_id=user, agent=agent))

    def load(self, thread_id: str) -> AgentThread:
        return asyncio.run(AgentThread.load(chosen_thread(self.list(None), thread_id), self.store))


@contextmanager
def _opened(project: str | None) -> Iterator[_Project]:
    settings = load_settings()
    with opened(current_database(settings)) as database:
        with database.reading() as session:
            owner = find_project(session, project or settings.project)
            found = _Project(database, owner.id, owner.name)
        yield found


@threads.command("list")
def list_them(
    *,
    user: OfUser = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Filter by agent.")] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List threads, newest last."""
    with _opened(project) as found:
        rows = [_row(thread) for thread in found.list(user, agent)]
    print_rows(f"Threads of {found.name}", COLUMNS, rows, as_json=as_json)


@threads.command()
def show(thread_id: ThreadId, *, project: InProject = None, as_json: AsJson = False) -> None:
    """Show the messages of a thread."""
    with _opened(project) as found:
        thread = found.load(thread_id)
    if as_json:
        print_json(json.loads(thread.serialize()))
        return
    for message in thread.messages:
        for line in _lines(message):
            console.print(harmless(line), markup=False, highlight=False)
    for request in thread.pending:
        waits = f"waits for an answer to {request.id}: {request.question}"
        console.print(harmless(waits), markup=False, highlight=False)


@threads.command()
def export(
    thread_id: MaybeThreadId = None,
    *,
    user: OfUser = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write. Default: standard output.")
    ] = None,
    project: InProject = None,
) -> None:
    """Export a thread as JSON, or all threads, turns and memories of a person."""
    _check_one(thread_id, user)
    with _opened(project) as found:
        if user is None:
            chosen = [found.load(str(thread_id))]
        else:
            chosen = [found.load(one.id) for one in found.list(user)]
        told = _exported(found, chosen, user)
    text = harmless_json(json.dumps(told, indent=2, ensure_ascii=False, default=str))
    if out is None:
        sys.stdout.write(f"{text}\n")
        return
    try:
        out.write_text(f"{text}\n", encoding="utf-8")
    except OSError as exc:
        raise OptionError(f"{out} cannot be written ({exc.strerror}); check the path") from None
    console.print(f"wrote {len(chosen)} threads to {out}", markup=False, highlight=False)


@threads.command("delete")
def delete_them(
    thread_id: MaybeThreadId = None,
    *,
    user: OfUser = None,
    yes: Yes = False,
    project: InProject = None,
) -> None:
    """Delete a thread with its turns, or all threads, turns and memories of a person."""
    _check_one(thread_id, user)
    with _opened(project) as found:
        if user is None:
            ids = [chosen_thread(found.list(None), str(thread_id))]
        else:
            ids = [one.id for one in found.list(user)]
        whose = (
            f"thread {ids[0]}" if user is None else f"{len(ids)} threads, all turns and memories of {user}"
        )
        if not yes:
            confirm(f"Delete {whose}? This cannot be undone.")
        if user is not None:  # first: if their server is away, nothing is deleted
            asyncio.run(PersonMemories(found.database, found.id).clear(user))
        for one in ids:
            asyncio.run(found.store.delete(one))
        with found.database.writing() as session:
            _delete_turns(session, found.id, ids, user)
    console.print(f"deleted {whose}", markup=False, highlight=False)


def _check_one(thread_id: str | None, user: str | None) -> None:
    if (thread_id is None) == (user is None):
        raise OptionError("nothing is selected; give either the id of a thread or --user ID")


def _row(thread: StoredThread) -> dict[str, object]:
    facts = thread.metadata
    return {
        "id": thread.id,
        "agent": facts.agent,
        "user": facts.user_id,
        "created_at": datetime.fromtimestamp(facts.created_at, UTC),
    }


def _lines(message: ChatMessage) -> Iterator[str]:
    name = message.author_name or str(message.role)
    if message.text:
        yield f"{name}: {message.text}"
    for call in message.tool_calls:
        yield f"{name}: {call_text(call.name, call.arguments)}"
    for result in message.tool_results:
        yield f"  -> {result.content if isinstance(result.content, str) else json.dumps(result.content)}"


def _exported(found: _Project, chosen: Sequence[AgentThread], user: str | None) -> dict[str, JSONValue]:
    ids = [thread.id for thread in chosen]
    with found.database.reading() as session:
        turns = _turns(session, found.id, ids, user)
        memories = [] if user is None else _memories(session, found.id, user)
    if user is not None:
        outside = asyncio.run(PersonMemories(found.database, found.id).load(user))
        memories += [{"agent": agent, "memory": json.loads(one.stored())} for agent, one in outside]
    whole: list[JSONValue] = [json.loads(thread.serialize()) for thread in chosen]
    return {"project": found.name, "user": user, "threads": whole, "turns": turns, "memories": memories}


def _turns(session: Session, project_id: str, ids: Sequence[str], user: str | None) -> list[JSONValue]:
    query = select(ChatTurnModel).where(ChatTurnModel.project_id == project_id, _chosen(ids, user))
    names = [column.name for column in ChatTurnModel.__table__.columns if column.name not in _UNTOLD]
    return [{name: _plain(getattr(row, name)) for name in names} for row in session.scalars(query)]


_UNTOLD = frozenset({"project_id", "content_hash", "raw", "last_seen_at"})


def _plain(value: Any) -> JSONValue:  # noqa: ANN401  # a column's
    return value.isoformat() if isinstance(value, datetime) else value


def _memories(session: Session, project_id: str, user: str) -> list[JSONValue]:
    query = select(AgentMemoryModel).where(
        AgentMemoryModel.project_id == project_id, AgentMemoryModel.user_id == user
    )
    return [{"agent": row.agent, "memory": json.loads(row.text)} for row in session.scalars(query)]


def _delete_turns(session: Session, project_id: str, ids: Sequence[str], user: str | None) -> None:
    session.execute(delete(ChatTurnModel).where(ChatTurnModel.project_id == project_id, _chosen(ids, user)))
    if user is not None:
        session.execute(
            delete(AgentMemoryModel).where(
                AgentMemoryModel.project_id == project_id, AgentMemoryModel.user_id == user
            )
        )


def _chosen(ids: Sequence[str], user: str | None) -> ColumnElement[bool]:
    """Return the turns of threads, and of a person in any thread."""
    of_threads = ChatTurnModel.thread_id.in_(ids)
    return of_threads if user is None else or_(of_threads, ChatTurnModel.user_id == user)

"""The tables of threads of LangGraph, and of the runs of agents."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.types import JSONValue
from agentic.mappers import Base, SourceColumns
from agentic.mappers.tables.columns import ID_LENGTH

NAME_LENGTH = 200
NS_LENGTH = 1_500


class LangGraphThreadModel(Base):
    """A thread. On PostgreSQL, writers lock it; it is removed with all of its parts."""

    __tablename__ = "langgraph_threads"

    project_id: Mapped[str] = mapped_column(
        String(ID_LENGTH), ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True
    )
    thread_id: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)


class LangGraphCheckpointModel(Base):
    """A checkpoint.

    Attributes:
        ns: The nested graph that it belongs to; "" for the outermost one.
        checkpoint_id: Its id for LangGraph.
        number: From 1, in the order of commits.
        run_id: The run that made it, if it says so.
        record: The checkpoint, packed.
    """

    __tablename__ = "langgraph_checkpoints"
    __table_args__ = (
        ForeignKeyConstraint(
            ["project_id", "thread_id"],
            ["langgraph_threads.project_id", "langgraph_threads.thread_id"],
            ondelete="CASCADE",
        ),
        UniqueConstraint("project_id", "thread_id", "ns", "number"),
        Index(None, "project_id", "run_id"),
    )

    project_id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True)
    thread_id: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    ns: Mapped[str] = mapped_column(String(NS_LENGTH), primary_key=True)
    checkpoint_id: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)
    run_id: Mapped[str] = mapped_column(String(NAME_LENGTH))
    record: Mapped[bytes] = mapped_column(LargeBinary)


class LangGraphWriteModel(Base):
    """A write of a task, pending at a checkpoint.

    Attributes:
        slot: Its number among the task's writes; negative for errors, interrupts and answers.
        path: Path of the task, for the order.
        value: The value, packed.
    """

    __tablename__ = "langgraph_writes"
    __table_args__ = (
        ForeignKeyConstraint(
            ["project_id", "thread_id"],
            ["langgraph_threads.project_id", "langgraph_threads.thread_id"],
            ondelete="CASCADE",
        ),
    )

    project_id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True)
    thread_id: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    ns: Mapped[str] = mapped_column(String(NS_LENGTH), primary_key=True)
    checkpoint_id: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    task_id: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    slot: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    channel: Mapped[str] = mapped_column(Text)
    path: Mapped[str] = mapped_column(Text)
    value: Mapped[bytes] = mapped_column(LargeBinary)


class LangGraphPieceModel(Base):
    """A piece of large values of a thread.

    Attributes:
        name: Its hash.
    """

    __tablename__ = "langgraph_pieces"
    __table_args__ = (
        ForeignKeyConstraint(
            ["project_id", "thread_id"],
            ["langgraph_threads.project_id", "langgraph_threads.thread_id"],
            ondelete="CASCADE",
        ),
    )

    project_id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True)
    thread_id: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    name: Mapped[bytes] = mapped_column(LargeBinary(16), primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)


class LangGraphRunModel(SourceColumns, Base):
    """The result of an execution of an agent of the platform ``langgraph``.

    Attributes:
        thread_id: Its thread.
        turn: The input in the thread that it belongs to.
        graph: Name of the graph.
        text: The last message, if the state has messages.
        output: The state at the end.
        steps: Supersteps of the graph.
    """

    __tablename__ = "langgraph_runs"
    __table_args__ = (Index(None, "project_id", "first_seen_at"),)

    thread_id: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True, sort_order=80)
    turn: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True, sort_order=81)
    graph: Mapped[str] = mapped_column(String(NAME_LENGTH))
    text: Mapped[str] = mapped_column(Text)
    output: Mapped[JSONValue | None] = mapped_column(JSON(none_as_null=True))
    steps: Mapped[int] = mapped_column(BigInteger)

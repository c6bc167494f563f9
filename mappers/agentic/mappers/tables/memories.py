"""The table of memories: facts that agents keep about people."""

from __future__ import annotations

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.mappers.tables.columns import ID_LENGTH, Base

NAME_LENGTH = 200


class AgentMemoryModel(Base):
    """A memory.

    Attributes:
        agent: Name of the agent.
        user_id: The person; empty for memories of the agent itself.
        id: Digest of its words.
        text: The memory, as JSON in ASCII.
    """

    __tablename__ = "agent_memories"

    project_id: Mapped[str] = mapped_column(
        String(ID_LENGTH), ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True
    )
    agent: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    id: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    text: Mapped[str] = mapped_column(Text)

"""The table of turns."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Float, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.types import JSONValue
from agentic.mappers import Base, SourceColumns

NAME_LENGTH = 200


class ChatTurnModel(SourceColumns, Base):
    """A turn of a chat agent: one input, and all work for it. ``first_seen_at`` is its end.

    Attributes:
        thread_id: The conversation.
        turn: Id of the turn in it.
        agent: Name of the agent.
        user_id: The person who speaks, if known.
        prompt: The input.
        text: The answer.
        output: The structured answer.
        status: ``complete`` or ``stopped``.
        reason: Why it stopped.
        model: ``provider:name`` of the model that replied; of the agent's first one if several did.
        by_model: If several models replied, the use of each: by its name, the columns below.
        requests: Answered requests to models.
        tool_calls: Calls of tools.
        input_tokens: With the cached ones.
        output_tokens: With the tokens of thoughts.
        cached_tokens: Input tokens from the provider's prompt cache.
        cost_usd: US dollars; None if a price is not known.
        execution_id: Empty for a turn of ``agentic chat``.
    """

    __tablename__ = "chat_turns"
    __table_args__ = (Index(None, "project_id", "first_seen_at"), Index(None, "project_id", "user_id"))

    thread_id: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True, sort_order=80)
    turn: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True, sort_order=81)
    agent: Mapped[str] = mapped_column(String(NAME_LENGTH))
    user_id: Mapped[str | None] = mapped_column(String(NAME_LENGTH))
    prompt: Mapped[str] = mapped_column(Text)
    text: Mapped[str] = mapped_column(Text)
    output: Mapped[JSONValue | None] = mapped_column(JSON(none_as_null=True))
    status: Mapped[str] = mapped_column(String(20))
    reason: Mapped[str | None] = mapped_column(Text)
    model: Mapped[str] = mapped_column(String(NAME_LENGTH))
    by_model: Mapped[JSONValue | None] = mapped_column(JSON(none_as_null=True))
    requests: Mapped[int] = mapped_column(BigInteger)
    tool_calls: Mapped[int] = mapped_column(BigInteger)
    input_tokens: Mapped[int] = mapped_column(BigInteger)
    output_tokens: Mapped[int] = mapped_column(BigInteger)
    cached_tokens: Mapped[int] = mapped_column(BigInteger)
    cost_usd: Mapped[float | None] = mapped_column(Float)

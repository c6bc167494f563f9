"""The table of quotes."""

from __future__ import annotations

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.mappers import Base, SourceColumns


class QuoteModel(SourceColumns, Base):
    """A quote; the project comes first in the key, so two projects keep a row each."""

    __tablename__ = "quotes"

    id: Mapped[str] = mapped_column(String(100), primary_key=True)
    text: Mapped[str] = mapped_column(Text)
    author: Mapped[str | None] = mapped_column(String(200))

"""The table of cached answers."""

from __future__ import annotations

from sqlalchemy import JSON, Float, Index, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.mappers.tables.columns import ID_LENGTH, Base
from agentic.mappers.tables.core import owner


class HttpCacheModel(Base):
    """An answer that may be revalidated with its site; see :class:`agentic.core.http.CachedAnswer`.

    ``kept_at`` is in seconds since the epoch. The body comes last, so that SQLite reads the rest without it.
    """

    __tablename__ = "http_cache"
    __table_args__ = (Index("ix_http_cache_kept", "project_id", "kept_at"),)

    project_id: Mapped[str] = owner()
    key: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True)
    kept_at: Mapped[float] = mapped_column(Float(53))
    url: Mapped[str] = mapped_column(Text)
    headers: Mapped[list[list[str]]] = mapped_column(JSON)
    packed: Mapped[bytes] = mapped_column(LargeBinary)

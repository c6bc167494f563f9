"""The tables of repairs: requests, and the versions of an agent's pipeline that accepted ones make."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.pipeline.repairs.requests import ProposalState
from agentic.mappers.tables.columns import ID_LENGTH, Base, UTCDateTime, utc_now
from agentic.mappers.tables.core import names, owner


class PipelineRepairModel(Base):
    """A request for a repair of an agent's pipeline.

    Attributes:
        id: The same for the same incident of a run, so that it is stored once.
        run: The execution that works it out; "" for a command.
        kind: Key of the kind of pages; "" if it is not about pages of a crawl.
        state: Its state.
        request: See :class:`agentic.core.pipeline.repairs.requests.RepairRequest`.
        version: The version that applied it.
        decided_by: Who decided.
    """

    __tablename__ = "pipeline_repairs"
    __table_args__ = (Index(None, "project_id", "agent_id", "created_at"),)

    project_id: Mapped[str] = owner()
    id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True)
    agent_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("agents.id", ondelete="CASCADE"))
    run: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(String(16))
    state: Mapped[ProposalState] = mapped_column(names(ProposalState, 16))
    request: Mapped[str] = mapped_column(Text)
    version: Mapped[int | None]
    created_at: Mapped[datetime] = mapped_column(UTCDateTime, default=utc_now)
    decided_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    decided_by: Mapped[str | None] = mapped_column(String(200))


class RepairVersionModel(Base):
    """A version of an agent's pipeline: changes over the pipeline as it was written. It never changes.

    Attributes:
        version: From 1; the highest is in effect.
        changes: All changes, as JSON.
        repair_id: The request that it applies; None if it goes back, or if its changes are of a project file.
        created_by: Who decided.
    """

    __tablename__ = "repair_versions"

    project_id: Mapped[str] = owner()
    agent_id: Mapped[str] = mapped_column(
        String(ID_LENGTH), ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True
    )
    version: Mapped[int] = mapped_column(primary_key=True)
    changes: Mapped[str] = mapped_column(Text)
    repair_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    created_at: Mapped[datetime] = mapped_column(UTCDateTime, default=utc_now)
    created_by: Mapped[str] = mapped_column(String(200))

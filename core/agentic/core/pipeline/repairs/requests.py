"""Requests for a repair: the stored findings about one incident."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.pipeline.repairs.proposals import Repair, RepairProposal, SpecChange
from agentic.core.types import JSONValue


class ProposalState(StrEnum):
    """The state of a request.

    ``PROPOSED`` waits for a decision. ``APPLIED`` is part of the pipeline, ``ROLLED_BACK`` was.
    ``SUPERSEDED`` can no longer be applied: another repair or an edit changed the same places first.
    ``ABSTAINED`` proposes nothing.
    """

    PROPOSED = "proposed"
    APPLIED = "applied"
    REJECTED = "rejected"
    ABSTAINED = "abstained"
    SUPERSEDED = "superseded"
    ROLLED_BACK = "rolled_back"


class RepairRequest(BaseModel):
    """The repairs of one incident, each found or not.

    Attributes:
        kind: Key of the kind of pages; empty if it is not about pages of a crawl.
        why: The incident in a sentence.
        repairs: One for each broken part.
        checked: Pages of the new layout that prove it, besides those it was made from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str = ""
    why: str = ""
    repairs: tuple[Repair, ...] = ()
    checked: int = Field(default=0, ge=0)

    @property
    def found(self) -> tuple[RepairProposal, ...]:
        """The parts with a change."""
        return tuple(one for one in self.repairs if isinstance(one, RepairProposal) and one.changes)

    @property
    def changes(self) -> tuple[SpecChange, ...]:
        """The changes of all parts."""
        return tuple(change for one in self.found for change in one.changes)

    def marked(self, spec: JSONValue) -> RepairRequest:
        """Return the request with changes that know the parts that they are for.

        Args:
            spec: The pipeline in effect, as data.
        """
        repairs = tuple(
            one.model_copy(update={"changes": tuple(change.marked(spec) for change in one.changes)})
            if isinstance(one, RepairProposal)
            else one
            for one in self.repairs
        )
        return self.model_copy(update={"repairs": repairs})

    def is_sure(self, min_score: float, min_pages: int) -> bool:
        """Whether each broken part was found, with this score at least, and proved by these pages."""
        return (
            bool(self.found)
            and len(self.found) == len(self.repairs)
            and self.checked >= min_pages
            and all(one.score >= min_score for one in self.found)
        )


class StoredRepair(BaseModel):
    """A request as it is stored.

    Attributes:
        id: Of the request.
        state: Its state.
        request: Its content.
        version: The version of the pipeline that applied it; None if none did.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    state: ProposalState
    request: RepairRequest
    version: int | None = None

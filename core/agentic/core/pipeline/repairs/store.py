"""The port to stored repairs, for a crawl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agentic.core.pipeline.drift.profiles import Expectation
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.pipeline.repairs.requests import ProposalState, RepairRequest, StoredRepair
from agentic.core.pipeline.spec.spec import CrawlStep, DetailRules
from agentic.core.types import JSONValue

if TYPE_CHECKING:  # they read HTML
    from agentic.core.wrappers import Wrapper


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedStep:
    """A crawl step as it is in effect.

    Attributes:
        step: With the accepted repairs; references are not resolved.
        place: Keys and indices that lead to it in the spec; empty if it cannot be repaired.
        version: The version of the pipeline that has them; None for the pipeline as it was written.
    """

    step: CrawlStep
    place: ValuePath = ()
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftedPages:
    """Addresses of pages of the new layout.

    Attributes:
        held: Pages that wait.
        suspects: Pages that raised the alarm; they were fetched.
    """

    held: Sequence[str]
    suspects: Sequence[str]


class RepairStore(Protocol):
    """The repairs of the pipeline of one run. Safe to use from several processes at once."""

    async def step(self, written: CrawlStep) -> RepairedStep:
        """Return a crawl step with the accepted repairs."""
        ...

    async def drifted_pages(self, limit: int) -> DriftedPages:
        """Return up to ``limit`` pages of each sort."""
        ...

    async def rows(self, urls: Sequence[str]) -> Mapping[str, Mapping[str, JSONValue]]:
        """Return the stored rows of pages, by their addresses as given."""
        ...

    async def expectation(self, kind: str) -> Expectation:
        """Return what healthy pages of a kind have, by the key of the kind."""
        ...

    async def wrappers(self, rules: DetailRules) -> Mapping[str, Wrapper]:
        """Return what earlier runs know of the fields of a rule whose references are resolved."""
        ...

    async def find(self, repair_id: str) -> StoredRepair | None:
        """Return a request; None if no request has that id."""
        ...

    async def was_repaired(self, kind: str) -> bool:
        """Return whether a repair of this kind of pages was applied in this run already."""
        ...

    async def was_refused(self, request: RepairRequest) -> bool:
        """Return whether any of the changes was rejected or undone before, in whatever run."""
        ...

    async def store(self, repair_id: str, request: RepairRequest) -> StoredRepair:
        """Store a request unless one with that id exists, and return the stored one."""
        ...

    async def apply(self, repair_id: str, *, reason: str) -> ProposalState:
        """Make a new version with a proposed repair; return the state of the request afterwards.

        A second call, also from another process, changes nothing.
        """
        ...

    async def reject(self, repair_id: str, *, reason: str) -> ProposalState:
        """Refuse a proposed repair; return the state of the request afterwards."""
        ...

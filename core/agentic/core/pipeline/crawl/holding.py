"""Decides about held pages: by a repair, by the answer of a person, or by the end of waiting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from agentic.core.graph import CustomEvent, WorkflowContext
from agentic.core.ids import new_id
from agentic.core.logging import get_logger
from agentic.core.pipeline.crawl.repairing import CrawlRepair
from agentic.core.pipeline.crawl.store import CrawlStore
from agentic.core.pipeline.drift.incidents import DriftAnswer, Incident, RepairAnswer
from agentic.core.pipeline.repairs.requests import ProposalState, StoredRepair
from agentic.core.pipeline.spec.spec import AutoRepair, AutoRepairPolicy, CrawlStep
from agentic.core.types import JSONValue

CRAWL_REPAIRED = "crawl.repaired"
"""Type of the event about a repair that was worked out or applied for held pages."""

_IN_EFFECT = frozenset({ProposalState.APPLIED, ProposalState.SUPERSEDED})
"""After these the pages are worth reading again: with this repair, or with another one that came first."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPages:
    """The question about held pages; the answer is a :class:`DriftAnswer`, or a :class:`RepairAnswer`.

    Attributes:
        step: The step, by its number and id.
        held: Pages that wait.
        why: A line for each kind of pages.
        answer: The possible answers.
        repairs: Ids of the proposed repairs that the answer ``repair`` applies.
        found: A line for each of their fields.
    """

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.crawl.HeldPages"

    step: str
    held: int
    why: tuple[str, ...]
    answer: str = " | ".join(DriftAnswer)
    repairs: tuple[str, ...] = ()
    found: tuple[str, ...] = ()


Ask = Callable[[HeldPages], Awaitable[DriftAnswer | RepairAnswer]]


@dataclass(frozen=True, slots=True)
class HoldDecision:
    """A crawl with nothing left to fetch but held pages.

    Each part of a decision is stored before the next one begins: a process that dies in between, or a second
    one, finds the same request for a repair, and the same version.

    Attributes:
        step: The step, with its references resolved.
        incidents: Why the pages are held.
        store: The frontier.
        question: About the pages.
    """

    step: CrawlStep
    incidents: Sequence[Incident]
    store: CrawlStore
    question: HeldPages

    async def settle(self, repair: CrawlRepair | None, ask: Ask, ctx: WorkflowContext) -> bool:
        """Return whether the crawl continues; its pages are then released.

        Args:
            repair: Works out repairs; None if the step wants none.
            ask: Asks a person, or another program.
            ctx: Of the run.
        """
        if repair is not None:
            found = await self._requests(repair, ctx)
            continues = await self._settle_by_repair(repair, found, ask, ctx)
            if continues is not None:
                return continues
        return await self._follow(await ask(self.question))

    async def _settle_by_repair(
        self, repair: CrawlRepair, found: Sequence[StoredRepair], ask: Ask, ctx: WorkflowContext
    ) -> bool | None:
        """Return whether the crawl continues; None if no repair is proposed, or it was rejected meanwhile.

        The answer to the question counts, even if the repair was accepted or rejected since: "stop" stops.
        """
        is_sure = are_all_repaired(self.incidents, found) and await self._is_sure(repair, found)
        proposed = [one for one in found if one.state in (ProposalState.PROPOSED, *_IN_EFFECT)]
        is_open = not is_sure and any(one.state is ProposalState.PROPOSED for one in proposed)
        asked = await ctx.once("repair.asked", lambda: [one.id for one in proposed if is_open])
        if is_sure and not asked:
            limits = _auto(self.step)
            why = f"repair: auto, by scores from {limits.min_score} and {limits.min_pages} pages"
            return await self._apply(repair, found, why, ctx) or None
        if asked:
            proposed = [one for one in found if one.id in asked]
        if not proposed:
            return None
        why = "the question about held pages was answered"
        if asked or is_open:
            answer = await ask(self._question(proposed))
            if answer.value != RepairAnswer.REPAIR:
                await _reject(repair, proposed, answer)
                is_applied = any(one.state in _IN_EFFECT for one in proposed)
                if answer.value != RepairAnswer.RESUME or not is_applied:
                    return await self._follow(answer)
        return await self._apply(repair, proposed, why, ctx) or None

    async def _requests(self, repair: CrawlRepair, ctx: WorkflowContext) -> Sequence[StoredRepair]:
        """Return the request for each kind of pages whose fields changed; work out the new ones."""
        found: list[StoredRepair] = []
        for incident in self.incidents:
            if not incident.cause.is_drift:
                continue
            repair_id = await ctx.once(f"repair.{incident.kind}", new_id)
            stored = await repair.store.find(repair_id)
            if stored is None:
                stored = await repair.store.store(repair_id, await repair.request(incident))
                await _tell(stored, ctx)
            found.append(stored)
        return found

    async def _is_sure(self, repair: CrawlRepair, found: Sequence[StoredRepair]) -> bool:
        """Return whether the policy applies these repairs without asking."""
        if not isinstance(self.step.repair, AutoRepairPolicy):
            return False
        limits = _auto(self.step)
        for one in found:
            if one.state in _IN_EFFECT:
                continue
            is_sure = one.request.is_sure(limits.min_score, limits.min_pages)
            # A second alarm after a repair of this run means that the first one was wrong: a person decides.
            if (
                one.state is not ProposalState.PROPOSED
                or not is_sure
                or await repair.store.was_repaired(one.request.kind)
                or await repair.store.was_refused(one.request)
            ):
                return False
        return True

    async def _apply(
        self, repair: CrawlRepair, repairs: Sequence[StoredRepair], reason: str, ctx: WorkflowContext
    ) -> bool:
        """Apply repairs and release the pages; return whether any is in effect."""
        decided = [
            one.model_copy(update={"state": await repair.store.apply(one.id, reason=reason)})
            for one in repairs
        ]
        ours = [one for one in decided if one.state in _IN_EFFECT]
        if ours:
            await self.store.release(is_accepted=False, repaired=[one.request.kind for one in ours])
            for one in ours:
                await _tell(one, ctx)
        return bool(ours)

    async def _follow(self, answer: DriftAnswer | RepairAnswer) -> bool:
        if answer.value == DriftAnswer.STOP:
            return False
        await self.store.release(is_accepted=answer.value == DriftAnswer.ACCEPT)
        return True

    def _question(self, proposed: Sequence[StoredRepair]) -> HeldPages:
        parts = [part for one in proposed for part in one.request.found]
        return replace(
            self.question,
            answer=" | ".join(RepairAnswer),
            repairs=tuple(one.id for one in proposed),
            found=tuple(f"{one.subject}: {one.note} (score {one.score:.2f})" for one in parts),
        )


def are_all_repaired(incidents: Sequence[Incident], found: Sequence[StoredRepair]) -> bool:
    """Return whether each kind of held pages has a request for a repair.

    A release would also read pages that the site replaces by a wall, and empty their rows.
    """
    return bool(found) and {one.request.kind for one in found} == {one.kind for one in incidents}


async def _reject(
    repair: CrawlRepair, repairs: Sequence[StoredRepair], answer: DriftAnswer | RepairAnswer
) -> None:
    if answer.value == DriftAnswer.STOP:
        return  # a repair may still be accepted, for later runs
    for one in repairs:
        await repair.store.reject(one.id, reason=f"the question was answered with {answer.value!r}")


async def _tell(stored: StoredRepair, ctx: WorkflowContext) -> None:
    request = stored.request
    found = [one.subject for one in request.found]
    facts: dict[str, JSONValue] = {
        "repair": stored.id,
        "state": stored.state.value,
        "why": request.why,
        "found": [*found],
        "missing": [one.subject for one in request.repairs if one.subject not in found],
        "checked": request.checked,
    }
    log.info("crawl.repaired", **facts)
    await ctx.add_event(CustomEvent(type=CRAWL_REPAIRED, data=facts))


def _auto(step: CrawlStep) -> AutoRepair:
    return step.repair.auto if isinstance(step.repair, AutoRepairPolicy) else AutoRepair()

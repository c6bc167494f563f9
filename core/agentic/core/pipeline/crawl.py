"""The executor a crawl step becomes: one slice of the frontier for each activation."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pydantic import ValidationError

from agentic.core.actors import Actor, ActorContext, Failure
from agentic.core.graph import Executor, WorkflowContext, handler
from agentic.core.http import HttpError, canonical_url
from agentic.core.pipeline.crawl_report import CrawlReport
from agentic.core.pipeline.crawl_store import CrawlStore, FrontierCounts
from agentic.core.pipeline.errors import StepFailedError
from agentic.core.pipeline.follow import frontier_link, scope_of
from agentic.core.pipeline.places import Place, give_up, leave_out, never_tried
from agentic.core.pipeline.policies import Levels
from agentic.core.pipeline.references import ReferenceFailedError
from agentic.core.pipeline.slices import CrawlSlice, SliceLimits
from agentic.core.pipeline.spec import CrawlStep, resolved_crawl
from agentic.core.pipeline.state import CrawlTotals, MissingResultError, PipelineState
from agentic.core.pipeline.visits import Visitor
from agentic.core.types import JSONValue, RunId

POLL_S = 0.5

MAX_SLICES = 32
"""Slices of a crawl at a time, at most."""

CRAWL_TOTALS = "crawl"
"""Key of the run's state under which the rows and failures of all slices add up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlTurn:
    """One slice of a crawl, to be worked off by whoever is free; its pages are in the store.

    Attributes:
        state: What the pipeline knew when the crawl began.
        number: From 0; the first one decides how the crawl goes on.
        width: Slices of this superstep.
    """

    state: PipelineState
    number: int = 0
    width: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlTools:
    """What a crawl works with.

    Attributes:
        store_of: Gives the frontier of a run.
        actors: Every installed actor by name and alias.
        levels: Rules for failures, nearest first.
        context: What the actors may use.
        item_key: Field that identifies an item.
    """

    store_of: Callable[[RunId], CrawlStore]
    actors: Mapping[str, type[Actor]]
    levels: Levels
    context: ActorContext
    item_key: str


class CrawlNode(Executor):
    """Crawls, slices after slices: it sends itself a :class:`CrawlTurn` for each until the frontier is empty.

    What the slices came to adds up in the run's state, under ``CRAWL_TOTALS``.
    """

    def __init__(self, name: str, place: Place, step: CrawlStep, tools: CrawlTools) -> None:
        super().__init__(name, max_parallel=MAX_SLICES)
        self._place = place
        self._step = step
        self._tools = tools

    @handler
    async def begin(self, state: PipelineState, ctx: WorkflowContext) -> CrawlTurn | PipelineState | None:
        """Put the start pages into the frontier; those it knows already stay as they are."""
        try:
            starts = _starts(resolved_crawl(self._step, state.lookup))
        except MissingResultError as exc:
            return await leave_out(self._place, state, exc, ctx)
        except (ReferenceFailedError, ValidationError, HttpError) as exc:
            return await give_up(self._place, state, never_tried(self._place, exc), None, ctx)
        await self._tools.store_of(ctx.run_id).seed([frontier_link(url, 0) for url in starts])
        return CrawlTurn(state=state)

    @handler
    async def go_on(self, turn: CrawlTurn, ctx: WorkflowContext) -> PipelineState | None:
        """Work off one slice. The first one sends the next turns, or returns the state after the crawl.

        Raises:
            StepFailedError: Not one page could be fetched, or a rule makes a page's failure the pipeline's.
        """
        step = resolved_crawl(self._step, turn.state.lookup)
        store = self._tools.store_of(ctx.run_id)
        report = CrawlReport(store, ctx)
        counts = await self._work_off(turn, step, store, report)
        ctx.set_state(CRAWL_TOTALS, report.totals)
        if turn.number > 0:
            return None
        # What others of this superstep came to is known in the next one.
        if turn.width > 1 or not _is_over(step, counts):
            await _send_turns(turn, step, counts, ctx)
            return None
        totals = replace(
            ctx.get_state(CRAWL_TOTALS, CrawlTotals()),
            done=counts.done,
            failed=counts.failed,
            left=counts.new + counts.taken,
        )
        if totals.failed and not totals.done:
            raise StepFailedError(self._place.step, _first_failure(totals), 1)
        results: dict[str, JSONValue] = {"done": totals.done, "failed": totals.failed, "left": totals.left}
        return self._place.bind(replace(turn.state, crawl=totals), results)

    async def _work_off(
        self, turn: CrawlTurn, step: CrawlStep, store: CrawlStore, report: CrawlReport
    ) -> FrontierCounts:
        """Work off a slice, and return where the frontier stands then."""
        counts = await report.refresh()
        until = time.monotonic() + step.slice_seconds
        while not _is_over(step, counts):
            taken = await self._work(turn.width, store, step, counts, report)
            counts = await report.refresh()
            if taken or turn.width > 1 or time.monotonic() >= until:
                break
            # Another process had the rest until it was killed: its leases run out.
            await asyncio.sleep(POLL_S)
        return counts

    async def _work(
        self,
        width: int,
        store: CrawlStore,
        step: CrawlStep,
        counts: FrontierCounts,
        report: CrawlReport,
    ) -> int:
        """Run one slice; return how many pages it took.

        Raises:
            StepFailedError: A page failed, and a rule says that this fails the pipeline.
        """
        visitor = Visitor(
            step=step,
            scope=scope_of(step, _starts(step)),
            actors=self._tools.actors,
            levels=self._tools.levels,
            context=self._tools.context,
            item_key=self._tools.item_key,
        )
        limits = SliceLimits(
            pages=step.slice_pages,
            seconds=step.slice_seconds,
            budget=_share(step.max_pages - counts.done - counts.failed, width),
            commit_pages=step.commit_pages,
            commit_seconds=step.commit_seconds,
            max_parallel=_share(step.max_parallel, width),
        )
        part = CrawlSlice(store, visitor.visit, limits, report.committed)
        await part.run()
        if part.ending is not None and part.ending.failed is not None:
            page = part.ending.failed
            failure = Failure(failure_class=page.failure_class, message=page.message)
            raise StepFailedError(self._place.step, failure, part.ending.attempt_count)
        return part.taken


async def _send_turns(turn: CrawlTurn, step: CrawlStep, counts: FrontierCounts, ctx: WorkflowContext) -> None:
    """Send as many turns as there are slices of pages, at least one, which may find the crawl to be over."""
    full = 0 if _is_over(step, counts) else counts.new // step.slice_pages
    width = max(1, min(full, step.slices, MAX_SLICES))
    for number in range(width):
        await ctx.send_message(CrawlTurn(state=turn.state, number=number, width=width))


def _share(count: int, width: int) -> int:
    """Return what one of ``width`` slices gets of ``count``, rounded up."""
    return -(-count // width)


def _first_failure(totals: CrawlTotals) -> Failure:
    for tally in totals.tallies:
        message = f"no page of the crawl could be fetched: {tally.examples[0]}"
        return Failure(failure_class=tally.failure_class, message=message)
    return Failure(failure_class="error", message="no page of the crawl could be fetched; see the frontier")


def _starts(step: CrawlStep) -> list[str]:
    urls = [step.start] if isinstance(step.start, str) else step.start
    return list(dict.fromkeys(map(canonical_url, urls)))


def _is_over(step: CrawlStep, counts: FrontierCounts) -> bool:
    return counts.new + counts.taken == 0 or counts.done + counts.failed >= step.max_pages

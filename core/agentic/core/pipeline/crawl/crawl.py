"""The executor of a crawl step: each activation handles one slice of the frontier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import ClassVar, cast

from pydantic import ValidationError

from agentic.core.actors import Actor, ActorContext, ActorError, Failure, ModelUse, describe_failure
from agentic.core.actors.model_use import add_use
from agentic.core.graph import CrashPolicy, Executor, RequestExpiredError, WorkflowContext, handler
from agentic.core.http import HttpError
from agentic.core.http.exits.uses import ProxyTally, counting_proxies, take_uses
from agentic.core.http.sessions.url_credentials import UrlCredentials
from agentic.core.pipeline.crawl.borders import border_notes
from agentic.core.pipeline.crawl.files import KnownFiles, PageFiles
from agentic.core.pipeline.crawl.follow import CrawlScope, scope_of
from agentic.core.pipeline.crawl.holding import HeldPages, HoldDecision
from agentic.core.pipeline.crawl.offline import offline
from agentic.core.pipeline.crawl.page import PageProcessor
from agentic.core.pipeline.crawl.repairing import CrawlRepair
from agentic.core.pipeline.crawl.report import CrawlReport
from agentic.core.pipeline.crawl.seeding import FailedPart, Seeding, listed_pages, starts_of
from agentic.core.pipeline.crawl.slice import CrawlSlice, SliceLimits
from agentic.core.pipeline.crawl.statistics import RunningCrawls
from agentic.core.pipeline.crawl.store import CrawlBatch, CrawlStore, FrontierCounts, SliceId
from agentic.core.pipeline.drift.incidents import DriftAnswer, RepairAnswer
from agentic.core.pipeline.drift.looking import PageWatchers
from agentic.core.pipeline.errors import StepFailedError
from agentic.core.pipeline.expressions.expressions import SECRETS, Path
from agentic.core.pipeline.expressions.secret_masking import Hidden, read_secrets
from agentic.core.pipeline.policies.attempts import retrying
from agentic.core.pipeline.policies.policies import Levels
from agentic.core.pipeline.policies.retry_events import OF_PAGES, tell_changes
from agentic.core.pipeline.repairs.store import RepairedStep, RepairStore
from agentic.core.pipeline.spec.amounts import exceeds
from agentic.core.pipeline.spec.own_secrets import NO_OWN_SECRETS, OwnSecrets
from agentic.core.pipeline.spec.spec import CrawlStep, resolved_crawl
from agentic.core.pipeline.spec.step_names import file_actors
from agentic.core.pipeline.steps.calls import ActorCall
from agentic.core.pipeline.steps.nodes import TurnOnce
from agentic.core.pipeline.steps.positions import (
    StepPosition,
    give_up,
    leave_out,
    never_tried,
    too_many_failed,
)
from agentic.core.pipeline.steps.result import EXAMPLE_COUNT
from agentic.core.pipeline.steps.state import (
    CrawlTotals,
    MissingResultError,
    PipelineState,
    StepNote,
    add_notes,
)
from agentic.core.types import JSONValue, RunId, SaveCounts

MAX_SLICES = 32
"""Maximum number of slices of a crawl."""

_FORMER_TOTALS = "crawl"
"""Key of the run's state for uncounted rows of crawls of an older version."""

_MODELS = "models"
"""Begins the keys of the run's state for the use of models: one for each slice of a superstep."""

WORTH_A_SLICE = 200
"""Number of pages that justify the message of one more slice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlTurn:
    """One slice of a crawl, for any free worker; its pages are in the store.

    Attributes:
        state: The pipeline's state when the crawl began.
        number: From 0; slice 0 decides how the crawl continues.
        width: Slices of this superstep.
    """

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.crawl.CrawlTurn"

    state: PipelineState
    number: int = 0
    width: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlHold:
    """A crawl with nothing left to fetch but held pages; ``turn`` continues it."""

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.crawl.CrawlHold"

    turn: CrawlTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlTools:
    """The tools of a crawl.

    Attributes:
        store_of: Returns the frontier of a run.
        actors: The actors it calls, and perhaps others, by name and alias.
        levels: Rules for failures, nearest first.
        context: Returns the context for the actors of a run.
        item_key: Field that identifies an item.
        reruns: Calls of the steps that rules may run again, by id.
        own: The passwords and tokens that the pipeline itself holds.
        repairs_of: Returns the stored repairs of a run's pipeline; None if nothing stores them.
    """

    store_of: Callable[[RunId], CrawlStore]
    actors: Mapping[str, type[Actor]]
    levels: Levels
    context: Callable[[RunId], ActorContext]
    item_key: str
    reruns: Mapping[str, ActorCall]
    own: OwnSecrets = NO_OWN_SECRETS
    repairs_of: Callable[[RunId], RepairStore] | None = None


@dataclass(frozen=True, slots=True)
class _StepNow:
    """The step as it is in effect, with every reference replaced, and the secrets that are in it."""

    step: CrawlStep
    hidden: Hidden
    repaired: RepairedStep


class CrawlNode(Executor):
    """Crawls slice after slice: it sends itself a :class:`CrawlTurn` for each until the frontier is empty.

    If its process dies, a slice continues where it was. It may die often: a page that kills its process is
    found and marked as failed first.

    The results of the slices add up in the store, in the transactions that write their pages.
    """

    crash = CrashPolicy(max_crashes=10)

    def __init__(self, name: str, position: StepPosition, step: CrawlStep, tools: CrawlTools) -> None:
        super().__init__(name, max_parallel=MAX_SLICES)
        self._position = position
        self._step = step
        self._tools = tools
        self._under_way = RunningCrawls()
        self._watchers = PageWatchers(step.details)
        self._known_files = KnownFiles()

    @handler
    async def begin(self, state: PipelineState, ctx: WorkflowContext) -> CrawlTurn | PipelineState | None:
        """Put the start pages into the frontier, and the pages that sitemaps list if the step reads them."""
        context = self._context(ctx)
        with counting_proxies(context.http.exits is not None) as tally:
            return await self._begin(state, context, tally, ctx)

    async def _begin(
        self, state: PipelineState, context: ActorContext, tally: ProxyTally, ctx: WorkflowContext
    ) -> CrawlTurn | PipelineState | None:
        try:
            if not self._position.is_due(state):
                return self._position.pass_over(state)
            now = await self._resolved(state, ctx)
            step, hidden = now.step, now.hidden
            failed: list[FailedPart] = []
            store = self._tools.store_of(ctx.run_id)
            if (await store.begin(SliceId(ctx.superstep))).is_offline:
                step = step.model_copy(update={"sitemaps": False})
                now = replace(now, step=step)
            listed = listed_pages(step, self._tools.actors, self._reporting(context, hidden, failed))
            seeding = Seeding(step, listed, store, self._credentials(step), failed)
            await seeding.begin()
        except MissingResultError as exc:
            return await leave_out(self._position, state, exc, ctx)
        except (ActorError, ValidationError, HttpError) as exc:
            tried = state.with_proxies(tally.take())
            return await give_up(self._position, tried, never_tried(self._position, exc), None, ctx)
        turn = CrawlTurn(state=state)
        if not seeding.is_over:
            uses: list[ModelUse] = []
            await self._crawl_while(seeding, turn, self._processor(state, now, ctx, uses), ctx)
            self._keep_use(turn, uses, ctx)
        return replace(turn, state=state.with_proxies(tally.take()))

    @handler
    async def go_on(self, turn: CrawlTurn, ctx: WorkflowContext) -> PipelineState | None:
        """Process one slice. Slice 0 sends the next turns, or returns the state after the crawl.

        Raises:
            StepFailedError: No page could be fetched, or a rule fails the pipeline because of a page.
        """
        context = self._context(ctx)
        now = await self._resolved(turn.state, ctx)
        step, hidden = now.step, now.hidden
        uses: list[ModelUse] = []
        processor = self._processor(turn.state, now, ctx, uses)
        store = self._tools.store_of(ctx.run_id)
        report = CrawlReport(ctx, self._under_way.of(ctx.run_id))
        try:
            with counting_proxies(context.http.exits is not None):
                counts = await self._work_off(ctx.superstep, turn, processor, store, report)
        finally:
            report.end()
        self._keep_use(turn, uses, ctx)
        if turn.number > 0:
            return None
        # The next superstep knows the results of the other slices of this one.
        if turn.width > 1 or not _is_over(step, counts):
            await _send_turns(turn, step, counts, ctx)
            return None
        if counts.holds and step.on_drift == "hold" and not counts.is_offline:
            await ctx.send_message(CrawlHold(turn=turn))
            return None
        return await self._finish(turn, step, hidden, counts, ctx)

    @handler
    async def hold(self, held: CrawlHold, ctx: WorkflowContext) -> CrawlTurn | PipelineState | None:
        """Ask what to do with the held pages, and continue or end the crawl.

        Raises:
            StepFailedError: See :meth:`go_on`.
        """
        turn = held.turn
        now = await self._resolved(turn.state, ctx)
        store = self._tools.store_of(ctx.run_id)
        counts = await store.begin(SliceId(ctx.superstep))
        if counts.holds:
            uses: list[ModelUse] = []
            incidents = await store.incidents()
            why = tuple(incident.summary for incident in incidents)
            crawl = HoldDecision(
                now.step, incidents, store, HeldPages(step=self._position.label, held=counts.held, why=why)
            )
            continues = await crawl.settle(
                self._repairing(turn, now, ctx, uses), partial(self._ask, now.step, ctx), ctx
            )
            self._keep_use(turn, uses, ctx)
            if not continues:
                return await self._finish(turn, now.step, now.hidden, counts, ctx)
        return CrawlTurn(state=turn.state)

    async def _ask(
        self, step: CrawlStep, ctx: WorkflowContext, question: HeldPages
    ) -> DriftAnswer | RepairAnswer:
        """Return the answer to a question about held pages; without one in time, it is to stop."""
        deadline = timedelta(seconds=step.hold_seconds)
        # The numbers keep the answers apart: a repair may be rejected while its question waits.
        try:
            if question.repairs:
                return await ctx.request_info(question, RepairAnswer, deadline=deadline, number=2)
            return await ctx.request_info(question, DriftAnswer, deadline=deadline, number=1)
        except RequestExpiredError:
            return DriftAnswer.STOP

    def _repairing(
        self, turn: CrawlTurn, now: _StepNow, ctx: WorkflowContext, uses: list[ModelUse]
    ) -> CrawlRepair | None:
        """Return the maker of repairs; None if the step wants none."""
        if now.step.repair == "never" or self._tools.repairs_of is None:
            return None
        processor = self._processor(turn.state, now, ctx, uses)
        return CrawlRepair(processor, self._step, now.repaired, self._tools.repairs_of(ctx.run_id))

    async def _finish(
        self,
        turn: CrawlTurn,
        step: CrawlStep,
        hidden: Hidden,
        counts: FrontierCounts,
        ctx: WorkflowContext,
    ) -> PipelineState:
        """Return the state after the crawl."""
        store = self._tools.store_of(ctx.run_id)
        totals = await _totals(step, store, counts, ctx.get_state(_FORMER_TOTALS))
        if counts.failed and not totals.done:
            raise StepFailedError(self._position.step, _first_failure(totals), 1)
        if exceeds(totals.failed, self._position.limits.max_failed, of=totals.done + totals.failed):
            raise too_many_failed(self._position, totals.failed, _first_failure(totals))
        results: dict[str, JSONValue] = {"done": totals.done, "failed": totals.failed, "left": totals.left}
        notes = [
            StepNote(
                step=self._position.label,
                message=hidden.text(warning.example),
                subject=warning.subject,
                count=warning.count,
            )
            for warning in await store.warnings()
        ]
        state = replace(
            turn.state,
            crawl=totals,
            notes=add_notes(turn.state.notes, notes),
            models=add_use(turn.state.models, map(self._use_of(ctx), range(MAX_SLICES))),
        )
        if self._context(ctx).http.exits is not None:
            state = state.with_proxies(await store.proxies())
        return self._position.bind(state, results)

    def _keep_use(self, turn: CrawlTurn, uses: Sequence[ModelUse], ctx: WorkflowContext) -> None:
        """Add the use of models by a slice; no other slice of this superstep writes this key."""
        if (total := add_use(self._use_of(ctx)(turn.number), uses)) is not None and uses:
            ctx.set_state(self._use_key(turn.number), total)

    def _use_of(self, ctx: WorkflowContext) -> Callable[[int], ModelUse | None]:
        """Return a function for the use so far by the slices of a number."""

        def read(number: int) -> ModelUse | None:
            found = ctx.get_state(self._use_key(number))
            return found if isinstance(found, ModelUse) else None

        return read

    def _use_key(self, number: int) -> str:
        return f"{_MODELS}.{self._position.step}.{number}"

    def _context(self, ctx: WorkflowContext) -> ActorContext:
        return replace(self._tools.context(ctx.run_id), once=TurnOnce(ctx))

    def _reporting(self, context: ActorContext, hidden: Hidden, failed: list[FailedPart]) -> ActorContext:
        """Return the context for reading sitemaps: it retries them, and notes in ``failed`` which fail."""

        def note(url: str, exc: Exception) -> None:
            failed.append((url, hidden.failure(describe_failure(exc))))

        return replace(context, retry=retrying(self._tools.levels), part_failed=note)

    async def _resolved(self, state: PipelineState, ctx: WorkflowContext) -> _StepNow:
        """Return the step with accepted repairs and every reference replaced, and its secrets."""
        repaired = RepairedStep(step=self._step)
        if self._tools.repairs_of is not None:
            repaired = await self._tools.repairs_of(ctx.run_id).step(self._step)
        written = cast(JSONValue, repaired.step.model_dump(mode="json"))
        hidden = self._tools.own.joined(await read_secrets(written, self._context(ctx).secrets))

        def lookup(path: Path) -> JSONValue:
            return hidden.values[path[1]] if path[0] == SECRETS else state.lookup(path)

        return _StepNow(resolved_crawl(repaired.step, lookup), hidden, repaired)

    def _credentials(self, step: CrawlStep) -> UrlCredentials:
        """Return the credentials in the crawl's URLs: secrets are known only after it is resolved."""
        resolved = [step.start, step.sitemaps, step.fetch.config]
        return self._tools.own.credentials.joined(UrlCredentials.found_in(resolved))

    async def _crawl_while(
        self, seeding: Seeding, turn: CrawlTurn, processor: PageProcessor, ctx: WorkflowContext
    ) -> None:
        """Process slices for as long as pages are added to the frontier."""
        store = self._tools.store_of(ctx.run_id)
        report = CrawlReport(ctx, self._under_way.of(ctx.run_id))
        finished = -1
        try:
            async with seeding.meanwhile():
                while not seeding.is_over:
                    seeding.more.clear()
                    counts = await self._work_off(ctx.superstep, turn, processor, store, report)
                    if _is_over(processor.step, counts) or counts.finished == finished:
                        await seeding.more.wait()  # there is nothing to do until then
                    finished = counts.finished
        finally:
            report.end()

    def _processor(
        self,
        state: PipelineState,
        now: _StepNow,
        ctx: WorkflowContext,
        uses: list[ModelUse],
    ) -> PageProcessor:
        tools, step, hidden = self._tools, now.step, now.hidden
        context = replace(self._context(ctx), used=uses.append)

        async def rerun(name: str) -> None:
            await tools.reruns[name].once(context, state)

        scope = scope_of(step, starts_of(step), self._credentials(step))
        return PageProcessor(
            step=step,
            scope=scope,
            actors=tools.actors,
            levels=tools.levels,
            context=context,
            item_key=tools.item_key,
            call=f"{ctx.run_id}/{self._position.step}",
            hidden=hidden,
            credentials=self._credentials(step),
            tell=lambda url: tell_changes(ctx, url, context.decide, OF_PAGES),
            stored=tools.store_of(ctx.run_id).stored_page,
            without_network=offline(context),
            rerun=rerun,
            watcher=self._watchers.of(ctx.run_id),
            files=self._files(step, scope, hidden, context, ctx.run_id),
            version=now.repaired.version,
        )

    def _files(
        self, step: CrawlStep, scope: CrawlScope, hidden: Hidden, context: ActorContext, run_id: RunId
    ) -> PageFiles | None:
        if step.files is None:
            return None
        return PageFiles(
            step.files,
            [caller for _, caller in file_actors(step, step.files)],
            actors=self._tools.actors,
            context=context,
            levels=self._tools.levels,
            hidden=hidden,
            scope=scope,
            run_id=run_id,
            known=self._known_files,
        )

    async def _work_off(
        self,
        superstep: int,
        turn: CrawlTurn,
        processor: PageProcessor,
        store: CrawlStore,
        report: CrawlReport,
    ) -> FrontierCounts:
        """Process a slice, and return the frontier's counts after it.

        Raises:
            StepFailedError: A page failed, and by a rule this fails the pipeline.
        """
        step = processor.step
        slice_id = SliceId(superstep, turn.number)
        counts = await store.begin(slice_id)
        processor.note(counts)
        if _is_over(step, counts):
            return counts
        if step.details:
            processor.watcher.looks = await store.looks()
        limits = SliceLimits(
            pages=step.slice_pages if turn.width == _widest(step) else _first_share(step),
            seconds=step.slice_seconds,
            budget=_share(_budget(step, counts), turn),
            commit_pages=step.commit_pages,
            commit_seconds=step.commit_seconds,
            max_parallel=_share(step.max_parallel, turn),
            holds_drift=step.on_drift != "continue",
        )
        part = CrawlSlice(slice_id, store, processor.process, limits, report.committed, noted=processor.note)
        await part.run()
        if uses := take_uses():  # of pages that were not finished
            await store.exchange(slice_id, CrawlBatch(proxies=uses), 0)
        if part.ending is not None and part.ending.failed is not None:
            page = part.ending.failed
            failure = Failure(failure_class=page.failure_class, message=page.message)
            raise StepFailedError(self._position.step, failure, part.ending.attempt_count)
        return part.counts or counts


async def _totals(step: CrawlStep, store: CrawlStore, counts: FrontierCounts, former: object) -> CrawlTotals:
    saved = counts.saved
    if isinstance(former, CrawlTotals):
        saved += SaveCounts(
            inserted=former.inserted,
            updated=former.updated,
            unchanged=former.unchanged,
            rejected=former.rejected,
        )
    tallies = await store.failures(EXAMPLE_COUNT) if counts.failed else ()
    incidents = await store.incidents() if step.details else ()
    return CrawlTotals(
        done=counts.done,
        failed=counts.failed - counts.excluded,
        excluded=counts.excluded,
        left=counts.left,
        items=counts.items,
        beyond=counts.beyond,
        outside=counts.outside,
        reread=counts.reread,
        unstored=counts.unstored,
        borders=tuple(border_notes(step, counts)),
        inserted=saved.inserted,
        updated=saved.updated,
        unchanged=saved.unchanged,
        rejected=saved.rejected,
        tallies=tuple(tallies),
        held=counts.held,
        drift=tuple(incident.words for incident in incidents),
    )


async def _send_turns(turn: CrawlTurn, step: CrawlStep, counts: FrontierCounts, ctx: WorkflowContext) -> None:
    """Send one turn for each slice of pages, at least one: that one may find that the crawl is over."""
    full = 0 if _is_over(step, counts) else counts.open // _first_share(step)
    width = max(1, min(full, _widest(step)))
    for number in range(width):
        await ctx.send_message(CrawlTurn(state=turn.state, number=number, width=width))


def _widest(step: CrawlStep) -> int:
    return min(step.slices, step.max_parallel, MAX_SLICES)


def _first_share(step: CrawlStep) -> int:
    """Return how many pages justify a message for another slice, and after how many to check that."""
    return min(step.slice_pages, WORTH_A_SLICE)


def _share(count: int, turn: CrawlTurn) -> int:
    """Return a slice's share of ``count``: the shares of a superstep add up to exactly that."""
    whole, rest = divmod(count, turn.width)
    return whole + (turn.number < rest)


def _first_failure(totals: CrawlTotals) -> Failure:
    for tally in totals.tallies:
        message = f"no page of the crawl could be fetched: {tally.examples[0]}"
        return Failure(failure_class=tally.failure_class, message=message)
    return Failure(failure_class="error", message="no page of the crawl could be fetched; see the frontier")


def _budget(step: CrawlStep, counts: FrontierCounts) -> int:
    """Return how many pages may be taken: ``max_pages`` does not limit pages from storage."""
    return counts.unread if counts.is_offline else max(step.max_pages - counts.finished, counts.unread)


def _is_over(step: CrawlStep, counts: FrontierCounts) -> bool:
    return counts.open == 0 or _budget(step, counts) <= 0

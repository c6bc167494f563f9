"""The frontier of a crawl in SQL: pages to fetch, their claims and their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from operator import itemgetter
from typing import Any

from sqlalchemy.orm import Session

from agentic.core.actors import Page
from agentic.core.http import url_key
from agentic.core.http.exits.uses import ProxyUse, added_uses, dump_uses, load_uses
from agentic.core.pipeline.crawl.page_items import count_items, items_of
from agentic.core.pipeline.crawl.store import (
    CountedWarning,
    CrawlBatch,
    CrawledPage,
    Exchange,
    FailedPage,
    FrontierCounts,
    FrontierEntry,
    FrontierLink,
    SiteMove,
    SliceId,
)
from agentic.core.pipeline.drift.crawls import CrawlWatch, WatchedPage, load_crawl_watch
from agentic.core.pipeline.drift.incidents import Incident
from agentic.core.pipeline.drift.learning import add_learnt, without_learnt
from agentic.core.pipeline.drift.looking import UsualLook
from agentic.core.pipeline.drift.profiles import Expectation, KindProfile
from agentic.core.pipeline.policies.policies import StepAttempt
from agentic.core.pipeline.policies.records import attempt_records
from agentic.core.pipeline.steps.state import FailureTally
from agentic.core.threads import in_thread
from agentic.core.types import EXCLUDED_CLASSES, JSONValue, SaveCounts
from agentic.mappers.content import clean_text
from agentic.mappers.crawl.failures import failure_tallies
from agentic.mappers.crawl.statements import (
    ADD,
    AGAIN,
    CLAIM,
    CLAIM_ELSEWHERE,
    CLAIM_STORED,
    COUNT,
    COUNTS,
    FREE,
    GIVE_BACK,
    HOLD,
    LEARNT,
    MARK_DONE,
    MARK_FAILED,
    MOVE,
    RELEASE,
    STATES,
    STORE_LEARNT,
    STORE_USES,
    STORE_WATCH,
    TAKE_TURN,
    USES,
    WATCH,
)
from agentic.mappers.crawl.warnings import counted_warnings, dump_warnings
from agentic.mappers.database.database import Database, hot_transaction
from agentic.mappers.database.driver import DriverCursor, Value, driver_cursor
from agentic.mappers.tables.core import CrawlModel, FrontierState

RowSink = Callable[[Session, Sequence[CrawledPage]], SaveCounts]
GoneSink = Callable[[Session, Sequence[FailedPage]], SaveCounts]
PageSource = Callable[[Session, str], Page | None]
ProfileSource = Callable[[Session], Mapping[str, KindProfile]]
IncidentSink = Callable[[Session, Sequence[Incident]], None]

KNOWN_KEYS = 50_000
"""How many known links a store remembers: pages of a site repeat the same links."""

_OPEN = frozenset({FrontierState.NEW, FrontierState.TAKEN})


class SqlCrawlStore:
    """The frontier of one crawl, shared by all stores with the same project and ``run``.

    Implements :class:`agentic.core.pipeline.crawl.store.CrawlStore`. Several processes may claim at once:
    each page is given to one slice, and to another only after that slice has ended. If two fetched the same
    page anyway, the first commit counts; the later one stores nothing for that page.
    """

    def __init__(  # noqa: PLR0913 - the hooks of its platform
        self,
        database: Database,
        *,
        project_id: str,
        run: str,
        save: RowSink,
        mark_gone: GoneSink | None = None,
        load: PageSource | None = None,
        profiles: ProfileSource | None = None,
        note_held: IncidentSink | None = None,
    ) -> None:
        """Create the store; nothing is read or written yet.

        Args:
            database: Migrated.
            project_id: Owns the crawl.
            run: Names the crawl within its project; a later store with the same name continues it.
            save: Stores the rows of the pages, in the transaction that marks them done.
            mark_gone: Marks the rows of pages that no longer exist, in the transaction that marks them
                failed.
            load: Returns a stored page by its key; by default no page is stored.
            profiles: Returns the profiles of healthy pages, by their kind; by default none is known.
            note_held: Called with new incidents, in the transaction from which on their pages are held.
        """
        self._database = database
        self._project_id = project_id
        self._run = run
        self._save = save
        self._mark_gone = mark_gone
        self._load = load
        self._profiles = profiles
        self._note_held = note_held
        self._expected: Mapping[str, Expectation] | None = None
        self._watched: tuple[str | None, CrawlWatch] = (None, CrawlWatch())
        self._mine: dict[str, Value] = {"project_id": project_id, "run": run}
        self._known: set[str] = set()
        self._beyond: set[str] = set()
        self._is_offline = False

    async def seed(self, urls: Sequence[FrontierLink]) -> int:
        """Add unknown pages as new, and return how many were added."""
        return await in_thread(self._seed, urls)

    async def begin(self, slice_id: SliceId) -> FrontierCounts:
        """Reset abandoned pages to new, and return the counts of the frontier."""
        return await in_thread(self._begin, slice_id)

    async def exchange(
        self,
        slice_id: SliceId,
        batch: CrawlBatch,
        limit: int,
        *,
        without: Collection[str] = (),
    ) -> Exchange:
        """Mark pages, add links, store rows and claim up to ``limit`` pages, in the order they were found.

        A page that another store has finished meanwhile stays unchanged. A page that failed there and was
        fetched here becomes done.
        """
        return await in_thread(self._exchange, slice_id, batch, limit, without)

    async def give_back(self, slice_id: SliceId, entries: Sequence[FrontierEntry]) -> None:
        """Reset pages to new that a slice claimed and will not fetch."""
        await in_thread(self._give_back, slice_id, entries)

    async def stored_page(self, key: str) -> Page | None:
        """Return a stored page as it was fetched; None if it is not stored."""
        return None if self._load is None else await in_thread(self._stored_page, self._load, key)

    async def failures(self, examples: int) -> Sequence[FailureTally]:
        """Return the failure classes of pages, by name, each with up to ``examples`` messages."""
        return await in_thread(self._failures, examples)

    async def warnings(self) -> Sequence[CountedWarning]:
        """Return the warnings about pages that were read, counted by subject, in the order of the pages."""
        return await in_thread(self._warnings)

    async def proxies(self) -> Sequence[ProxyUse]:
        """Return the requests through each of several proxies, of all commits so far."""
        return await in_thread(self._proxies)

    async def looks(self) -> Mapping[str, UsualLook]:
        """Return the looks of healthy pages, by the key of their kind."""
        return await in_thread(self._looks)

    async def incidents(self) -> Sequence[Incident]:
        """Return the incidents that are not settled."""
        return await in_thread(self._incidents)

    async def release(self, *, is_accepted: bool, repaired: Collection[str] = ()) -> None:
        """Make held pages new again, and the pages that raised the alarm."""
        await in_thread(self._release, is_accepted, repaired)

    def _looks(self) -> Mapping[str, UsualLook]:
        with self._database.reading() as session:
            expected = self._expectations(session)
            crawl = session.get(CrawlModel, (self._project_id, self._run))
            muted = load_crawl_watch(crawl.watch).muted if crawl is not None else frozenset()
        return {
            key: UsualLook(
                markers=one.profile.markers if one.template is not None else (),
                needed=one.needed,
                is_accepted=key in muted,
            )
            for key, one in expected.items()
            if one.is_known
        }

    def _expectations(self, session: Session) -> Mapping[str, Expectation]:
        if self._expected is None:
            found = {} if self._profiles is None else self._profiles(session)
            self._expected = {key: Expectation(profile) for key, profile in found.items()}
        return self._expected

    def _incidents(self) -> Sequence[Incident]:
        with self._database.reading() as session:
            crawl = session.get(CrawlModel, (self._project_id, self._run))
            return () if crawl is None else load_crawl_watch(crawl.watch).incidents

    def _release(self, is_accepted: bool, repaired: Collection[str]) -> None:
        with hot_transaction(self._database) as cursor:
            self._take_turn(cursor)
            watch = self._read_watch(cursor)
            if is_accepted or repaired:  # only the pages from now on say how the fields look
                kinds = {one.kind for one in watch.incidents} if is_accepted else {*repaired}
                for (text,) in cursor.rows(LEARNT, self._mine):
                    kept = without_learnt(text, kinds)
                    cursor.run(STORE_LEARNT, {**self._mine, "new_wrappers": kept})
            keys = watch.settle(is_accepted=is_accepted, repaired=repaired)
            released = cursor.rows(RELEASE, self._mine)
            again = cursor.rows(AGAIN, {**self._mine, "keys": json.dumps([*keys])}) if keys else []
            self._store_watch(cursor, watch, frozenset())
            items = sum(count or 0 for (count,) in again)
            self._count(cursor, FrontierCounts(held=-len(released), done=-len(again), items=-items))

    def _watch(
        self, session: Session, cursor: DriverCursor, pages: Sequence[CrawledPage], *, holds: bool
    ) -> Sequence[Incident]:
        """Add pages to the watch; return the incidents that begin with them."""
        watched = [
            WatchedPage(page.url_key, page.url, page.content_hash, page.sight, _fields_of(page))
            for page in pages
            if page.sight is not None and not page.is_reread
        ]
        if not watched:
            return ()
        watch = self._read_watch(cursor)
        found = watch.note(watched, self._expectations(session))
        held = frozenset(one.kind for one in watch.incidents) if holds else frozenset()
        self._store_watch(cursor, watch, held)
        return found

    def _learn(self, cursor: DriverCursor, pages: Sequence[CrawledPage]) -> None:
        """Keep the looks of fields until the crawl has ended well."""
        fields = [one for page in pages for one in page.learnt]
        if not fields:
            return
        for (text,) in cursor.rows(LEARNT, self._mine):
            known = clean_text(add_learnt(text, fields))
            cursor.run(STORE_LEARNT, {**self._mine, "new_wrappers": known})

    def _read_watch(self, cursor: DriverCursor) -> CrawlWatch:
        known, watch = self._watched
        self._watched = (None, CrawlWatch())  # it is known again once it is stored
        for (text,) in cursor.rows(WATCH, self._mine):
            return watch if text is not None and text == known else load_crawl_watch(text)
        return CrawlWatch()

    def _store_watch(self, cursor: DriverCursor, watch: CrawlWatch, held: Collection[str]) -> None:
        text = clean_text(watch.dump())
        cursor.run(STORE_WATCH, {**self._mine, "new_watch": text, "new_holds": " ".join(sorted(held))})
        self._watched = (text, watch)

    def _hold(self, cursor: DriverCursor, slice_id: SliceId, keys: Sequence[str]) -> int:
        rows = [{**self._mine, "page_key": key, "own_holder": str(slice_id)} for key in keys]
        return cursor.run_each(HOLD, rows) if rows else 0

    def _proxies(self) -> Sequence[ProxyUse]:
        with self._database.reading() as session:
            crawl = session.get(CrawlModel, (self._project_id, self._run))
            return () if crawl is None else load_uses(crawl.proxies)

    def _stored_page(self, load: PageSource, key: str) -> Page | None:
        with self._database.reading() as session:
            return load(session, key)

    def _warnings(self) -> list[CountedWarning]:
        with self._database.reading() as session:
            return counted_warnings(session, self._project_id, self._run)

    def _failures(self, examples: int) -> list[FailureTally]:
        with self._database.reading() as session:
            return failure_tallies(session, self._project_id, self._run, examples)

    def _seed(self, urls: Sequence[FrontierLink]) -> int:
        with hot_transaction(self._database) as cursor:
            self._take_turn(cursor)
            added = self._add(cursor, urls)
            self._count(cursor, FrontierCounts(total=added))
            return added

    def _begin(self, slice_id: SliceId) -> FrontierCounts:
        others = f"{slice_id.superstep}.%"
        with hot_transaction(self._database) as cursor:
            self._take_turn(cursor)
            cursor.run(FREE, {**self._mine, "own_holder": str(slice_id), "of_superstep": others})
            counts = _counts(cursor.rows(COUNTS, self._mine))
        self._is_offline = counts.is_offline  # it never changes
        return counts

    def _exchange(
        self, slice_id: SliceId, batch: CrawlBatch, limit: int, without: Collection[str]
    ) -> Exchange:
        with self._database.joined(starts_hot=True) as session:
            with driver_cursor(session) as cursor:
                is_write = batch.done or batch.failed or batch.links or batch.proxies or batch.held
                if is_write:  # claims alone never wait
                    self._take_turn(cursor)
                added = self._add(cursor, batch.links)  # first: a failed page may be one of them
                fresh, given_up, again, item_count = self._mark(cursor, batch)
                beyond = self._unknown(cursor, batch.beyond)
                self._move(cursor, batch.moves)
                self._add_uses(cursor, batch.proxies)
                held = self._hold(cursor, slice_id, batch.held)
                entries = self._claim(cursor, slice_id, limit, without)
            saved = self._save(session, fresh) if fresh else SaveCounts()
            gone = [page for page in given_up if page.gone_status and page.has_row]
            if gone and self._mark_gone is not None:
                saved += self._mark_gone(session, gone)
            change = FrontierCounts(
                total=added,
                done=len(fresh),
                failed=len(given_up) - len(again),
                excluded=sum(page.failure_class in EXCLUDED_CLASSES for page in given_up),
                items=item_count,
                beyond=len(beyond),
                outside=batch.outside,
                reread=_count_reread(fresh) + _count_reread(given_up) - _count_reread(again),
                held=held,
                saved=saved,
            )
            with driver_cursor(session) as cursor:
                incidents = self._watch(session, cursor, fresh, holds=batch.holds_drift)
                self._learn(cursor, fresh)
                counts = self._count(cursor, change)
            if incidents and batch.holds_drift and self._note_held is not None:
                self._note_held(session, incidents)
        self._remember(batch.links)
        self._note_beyond(beyond)
        return Exchange(saved=saved, entries=entries, counts=counts, incidents=incidents)

    def _give_back(self, slice_id: SliceId, entries: Sequence[FrontierEntry]) -> None:
        with hot_transaction(self._database) as cursor:
            rows = [{**self._mine, "page_key": e.url_key, "own_holder": str(slice_id)} for e in entries]
            cursor.run_each(GIVE_BACK, rows)

    def _mark(
        self, cursor: DriverCursor, batch: CrawlBatch
    ) -> tuple[list[CrawledPage], list[FailedPage], list[CrawledPage], int]:
        """Mark pages; return the newly done, the newly failed, the newly done that had failed before.

        The last part is the number of items on the newly done.
        """
        keys = [page.url_key for page in batch.done] + [page.url_key for page in batch.failed]
        if not keys:
            return [], [], [], 0
        states: dict[str, str] = dict(cursor.rows(STATES, {**self._mine, "keys": json.dumps(keys)}))
        fresh = [page for page in batch.done if states.get(page.url_key) != FrontierState.DONE]
        given_up = [page for page in batch.failed if states.get(page.url_key, "") in _OPEN]
        item_counts = [count_items(page) for page in fresh]
        cursor.run_each(MARK_DONE, list(map(self._done, fresh, item_counts)))
        cursor.run_each(MARK_FAILED, [self._failed(page) for page in given_up])
        again = [page for page in fresh if states.get(page.url_key) == FrontierState.FAILED]
        return fresh, given_up, again, sum(item_counts)

    def _done(self, page: CrawledPage, item_count: int) -> dict[str, Value]:
        return {
            **self._mine,
            "page_key": page.url_key,
            "new_message": dump_warnings(page.warnings) if page.warnings else None,
            "new_hash": page.content_hash,
            "new_tries": _tries(page.attempts),
            "new_page_key": page.url_key if page.final_url == page.url else url_key(page.final_url),
            "new_items": item_count,
        }

    def _failed(self, page: FailedPage) -> dict[str, Value]:
        return {
            **self._mine,
            "page_key": page.url_key,
            "new_class": page.failure_class,
            "new_message": clean_text(page.message),
            "new_letter": page.is_letter,
            "new_tries": _tries(page.attempts),
        }

    def _add(self, cursor: DriverCursor, links: Sequence[FrontierLink]) -> int:
        unseen = {link.url_key: link for link in links if link.url_key not in self._known}
        rows = [
            {
                **self._mine,
                "url_key": link.url_key,
                "url": clean_text(link.url),
                "depth": link.depth,
            }
            for link in unseen.values()
        ]
        return cursor.run_each(ADD, rows) if rows else 0

    def _unknown(self, cursor: DriverCursor, keys: Collection[str]) -> set[str]:
        """Return the keys of pages that nothing else of this crawl has found."""
        unseen = {key for key in keys if key not in self._known and key not in self._beyond}
        if not unseen:
            return unseen
        known = cursor.rows(STATES, {**self._mine, "keys": json.dumps([*unseen])})
        return unseen.difference(key for key, _ in known)

    def _note_beyond(self, keys: set[str]) -> None:
        if len(self._beyond) > KNOWN_KEYS:
            self._beyond.clear()
        self._beyond |= keys

    def _move(self, cursor: DriverCursor, moves: Sequence[SiteMove]) -> None:
        if not moves:
            return
        known = _counts(cursor.rows(COUNTS, self._mine)).moves
        lines = dict.fromkeys(f"{move.start} {move.to}" for move in (*known, *moves))
        cursor.run(MOVE, {**self._mine, "new_moves": clean_text("\n".join(lines))})

    def _add_uses(self, cursor: DriverCursor, uses: Sequence[ProxyUse]) -> None:
        if not uses:
            return
        for (known,) in cursor.rows(USES, self._mine):
            both = added_uses(load_uses(known), uses)
            cursor.run(STORE_USES, {**self._mine, "new_proxies": dump_uses(both)})

    def _remember(self, links: Sequence[FrontierLink]) -> None:
        """Remember links that are committed to the frontier."""
        if len(self._known) > KNOWN_KEYS:
            self._known.clear()
        self._known.update(link.url_key for link in links)

    def _count(self, cursor: DriverCursor, change: FrontierCounts) -> FrontierCounts:
        if not (change.total or change.done or change.failed or change.held):
            return _counts(cursor.rows(COUNTS, self._mine))
        saved = change.saved
        added: dict[str, Value] = {
            **self._mine,
            "total": change.total,
            "done": change.done,
            "failed": change.failed,
            "excluded": change.excluded,
            "items": change.items,
            "beyond": change.beyond,
            "outside": change.outside,
            "reread": change.reread,
            "held": change.held,
            "inserted": saved.inserted,
            "updated": saved.updated,
            "unchanged": saved.unchanged,
            "rejected": saved.rejected,
        }
        return _counts(cursor.rows(COUNT, added))

    def _claim(
        self, cursor: DriverCursor, slice_id: SliceId, limit: int, without: Collection[str]
    ) -> list[FrontierEntry]:
        if limit <= 0:
            return []
        given = {**self._mine, "own_holder": str(slice_id), "most": limit}
        if self._is_offline:
            rows = cursor.rows(CLAIM_STORED, given)
        elif without:
            rows = cursor.rows(CLAIM_ELSEWHERE, {**given, "sites": json.dumps([*without])})
        else:
            rows = cursor.rows(CLAIM, given)
        return [
            FrontierEntry(url=url, url_key=key, depth=depth, attempts=attempts - 1, page_key=page_key)
            for _, url, key, depth, attempts, page_key in sorted(rows, key=itemgetter(0))
        ]

    def _take_turn(self, cursor: DriverCursor) -> None:
        if cursor.is_postgresql:
            name = f"{self._project_id}/{self._run}".encode()
            crawl = int.from_bytes(sha256(name).digest()[:8], signed=True)
            cursor.rows(TAKE_TURN, {"crawl": crawl})


def _counts(rows: Sequence[tuple[Any, ...]]) -> FrontierCounts:
    if not rows:
        return FrontierCounts()
    moves, to_reread, unstored, is_offline, holds, *counted = rows[0]
    total, done, failed, excluded, items, beyond, outside, reread, held, *saved = counted
    return FrontierCounts(
        total=total,
        done=done,
        failed=failed,
        excluded=excluded,
        items=items,
        beyond=beyond,
        outside=outside,
        moves=tuple(SiteMove(*line.split(" ", 1)) for line in moves.splitlines()),
        saved=SaveCounts(*saved),
        to_reread=to_reread,
        reread=reread,
        unstored=unstored,
        is_offline=bool(is_offline),
        held=held,
        holds=frozenset(holds.split()),
    )


def _fields_of(page: CrawledPage) -> Sequence[Mapping[str, JSONValue]]:
    if page.sight is not None and page.sight.void is not None:
        return page.sight.void
    return [item.fields for item in items_of(page)]


def _count_reread(pages: Sequence[CrawledPage] | Sequence[FailedPage]) -> int:
    return sum(page.is_reread for page in pages)


def _tries(attempts: Sequence[StepAttempt]) -> str | None:
    return json.dumps(attempt_records(attempts)) if len(attempts) > 1 else None

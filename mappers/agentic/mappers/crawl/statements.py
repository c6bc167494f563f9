"""The statements of a crawl's frontier, each built once."""

from __future__ import annotations

from typing import cast

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    ColumnElement,
    Integer,
    String,
    Table,
    bindparam,
    false,
    func,
    not_,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.sql.dml import UpdateBase

from agentic.mappers.database.driver import CompiledStatement
from agentic.mappers.database.expressions import IndexOf, OneOf
from agentic.mappers.database.inserts import insert_into
from agentic.mappers.tables.core import CrawlModel, FrontierModel, FrontierState

FRONTIER = cast("Table", FrontierModel.__table__)
CRAWLS = cast("Table", CrawlModel.__table__)


def _text(name: str) -> ColumnElement[str]:
    return bindparam(name, type_=String)


def _mine(table: Table) -> tuple[ColumnElement[bool], ...]:
    return table.c.project_id == _text("project_id"), table.c.run == _text("run")


def _page() -> tuple[ColumnElement[bool], ...]:
    return (*_mine(FRONTIER), FRONTIER.c.url_key == _text("page_key"))


_HOLDER = _text("own_holder")


def _add(is_postgresql: bool) -> UpdateBase:
    return (
        insert_into(FRONTIER, is_postgresql=is_postgresql)
        .values(
            project_id=_text("project_id"),
            run=_text("run"),
            url_key=_text("url_key"),
            url=_text("url"),
            depth=bindparam("depth", type_=Integer),
            state=FrontierState.NEW.value,
            attempts=0,
            is_letter=false(),
        )
        .on_conflict_do_nothing(index_elements=["project_id", "run", "url_key"])
    )


ADD = CompiledStatement(_add)
"""Adds a page that is not known yet."""

STATES = CompiledStatement(
    select(FRONTIER.c.url_key, FRONTIER.c.state).where(
        *_mine(FRONTIER), FRONTIER.c.url_key.bool_op("IN")(OneOf(_text("keys")))
    )
)
"""Reads the states of pages."""

MARK_DONE = CompiledStatement(
    update(FRONTIER)
    .where(*_page())
    .values(
        holder=null(),
        state=FrontierState.DONE.value,
        failure_class=null(),
        message=_text("new_message"),
        content_hash=_text("new_hash"),
        tries=bindparam("new_tries", type_=JSON),
        page_key=_text("new_page_key"),
        item_count=bindparam("new_items", type_=Integer),
    )
)

MARK_FAILED = CompiledStatement(
    update(FRONTIER)
    .where(*_page())
    .values(
        holder=null(),
        state=FrontierState.FAILED.value,
        failure_class=_text("new_class"),
        message=_text("new_message"),
        tries=bindparam("new_tries", type_=JSON),
        is_letter=bindparam("new_letter", type_=Boolean),
    )
)


def _claim(*which: ColumnElement[bool]) -> CompiledStatement:
    # A CTE, because PostgreSQL may run a plain subquery with a limit more than once.
    oldest = (
        select(FRONTIER.c.id)
        .where(*_mine(FRONTIER), FRONTIER.c.state == FrontierState.NEW.value, *which)
        .order_by(FRONTIER.c.id)
        .limit(bindparam("most", type_=Integer))
        .with_for_update(skip_locked=True)
        .cte("oldest")
    )
    return CompiledStatement(
        update(FRONTIER)
        .where(FRONTIER.c.id.in_(select(oldest.c.id)))
        .values(
            state=FrontierState.TAKEN.value,
            holder=_HOLDER,
            attempts=FRONTIER.c.attempts + 1,
        )
        .returning(
            FRONTIER.c.id,
            FRONTIER.c.url,
            FRONTIER.c.url_key,
            FRONTIER.c.depth,
            FRONTIER.c.attempts,
            FRONTIER.c.page_key,
        )
    )


CLAIM = _claim()
"""Claims the oldest new pages."""

CLAIM_STORED = _claim(FRONTIER.c.page_key.is_not(None))
"""Claims the oldest new pages that are read from storage."""

# The part of an address before its path; the path of a canonical address is never empty.
_SITE = func.substr(FRONTIER.c.url, 1, IndexOf(func.substr(FRONTIER.c.url, 9), "/") + 8)

CLAIM_ELSEWHERE = _claim(not_(_SITE.bool_op("IN")(OneOf(_text("sites")))))
"""The same, without the named sites."""

GIVE_BACK = CompiledStatement(
    update(FRONTIER)
    .where(*_page(), FRONTIER.c.state == FrontierState.TAKEN.value, FRONTIER.c.holder == _HOLDER)
    .values(holder=null(), state=FrontierState.NEW.value, attempts=FRONTIER.c.attempts - 1)
)

HOLD = CompiledStatement(
    update(FRONTIER)
    .where(*_page(), FRONTIER.c.state == FrontierState.TAKEN.value, FRONTIER.c.holder == _HOLDER)
    .values(holder=null(), state=FrontierState.HELD.value, attempts=FRONTIER.c.attempts - 1)
)
"""Holds a page that a slice claimed and did not fetch."""

RELEASE = CompiledStatement(
    update(FRONTIER)
    .where(*_mine(FRONTIER), FRONTIER.c.state == FrontierState.HELD.value)
    .values(state=FrontierState.NEW.value)
    .returning(FRONTIER.c.id)
)
"""Makes all held pages new again."""

AGAIN = CompiledStatement(
    update(FRONTIER)
    .where(
        *_mine(FRONTIER),
        FRONTIER.c.state == FrontierState.DONE.value,
        FRONTIER.c.url_key.bool_op("IN")(OneOf(_text("keys"))),
    )
    .values(state=FrontierState.NEW.value, page_key=null(), attempts=0)
    .returning(FRONTIER.c.item_count)
)
"""Makes fetched pages new again, to be fetched once more."""

FREE = CompiledStatement(
    update(FRONTIER)
    .where(
        *_mine(FRONTIER),
        FRONTIER.c.state == FrontierState.TAKEN.value,
        or_(FRONTIER.c.holder == _HOLDER, FRONTIER.c.holder.not_like(_text("of_superstep"))),
    )
    .values(holder=null(), state=FrontierState.NEW.value)
)
"""Resets pages that an earlier attempt at a slice, or a slice of another superstep, had claimed."""

COUNT_NAMES = (
    "total",
    "done",
    "failed",
    "excluded",
    "items",
    "beyond",
    "outside",
    "reread",
    "held",
    "inserted",
    "updated",
    "unchanged",
    "rejected",
)
"""The counts of a crawl, in reading order."""

_FIXED = ("moves", "to_reread", "unstored", "is_offline", "holds")

_COUNT_COLUMNS = [CRAWLS.c[name] for name in (*_FIXED, *COUNT_NAMES)]


def _count(is_postgresql: bool) -> UpdateBase:
    counted = insert_into(CRAWLS, is_postgresql=is_postgresql).values(
        project_id=_text("project_id"),
        run=_text("run"),
        moves="",
        to_reread=0,
        unstored=0,
        is_offline=false(),
        holds="",
        **{name: bindparam(name, type_=Integer) for name in COUNT_NAMES},
    )
    return counted.on_conflict_do_update(
        index_elements=["project_id", "run"],
        set_={name: CRAWLS.c[name] + counted.excluded[name] for name in COUNT_NAMES},
    ).returning(*_COUNT_COLUMNS)


COUNT = CompiledStatement(_count)
"""Adds to the counts of a crawl, and returns the new counts."""

MOVE = CompiledStatement(update(CRAWLS).where(*_mine(CRAWLS)).values(moves=_text("new_moves")))
"""Stores the start pages that led to other hosts."""

USES = CompiledStatement(select(CRAWLS.c.proxies).where(*_mine(CRAWLS)))
"""Reads the requests through each proxy."""

STORE_USES = CompiledStatement(update(CRAWLS).where(*_mine(CRAWLS)).values(proxies=_text("new_proxies")))
"""Stores the requests through each proxy."""

WATCH = CompiledStatement(select(CRAWLS.c.watch).where(*_mine(CRAWLS)))
"""Reads the watch over a crawl's pages."""

STORE_WATCH = CompiledStatement(
    update(CRAWLS).where(*_mine(CRAWLS)).values(watch=_text("new_watch"), holds=_text("new_holds"))
)
"""Stores the watch, and the kinds that are held."""

LEARNT = CompiledStatement(select(CRAWLS.c.wrappers).where(*_mine(CRAWLS)))
"""Reads the lessons of a crawl about its fields."""

STORE_LEARNT = CompiledStatement(update(CRAWLS).where(*_mine(CRAWLS)).values(wrappers=_text("new_wrappers")))
"""Stores them."""

COUNTS = CompiledStatement(select(*_COUNT_COLUMNS).where(*_mine(CRAWLS)))

TAKE_TURN = CompiledStatement(select(func.pg_advisory_xact_lock(bindparam("crawl", type_=BigInteger))))
"""On PostgreSQL, waits for others that write to this crawl: their links, in another order, could deadlock."""

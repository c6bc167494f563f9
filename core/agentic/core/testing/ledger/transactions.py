"""The contract of every ledger for transactions: all writes of one, or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Event

import pytest

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.errors import RunExistsError
from agentic.core.ledger.port import LedgerStore, LedgerTransaction
from agentic.core.ledger.records import Lease
from agentic.core.testing.ledger.cases import (
    CHILD,
    CLAIMS_S,
    DONE,
    FIRST,
    IN_REVIEW,
    LONG_S,
    OTHER,
    RELEASED,
    RUN,
    WAITING,
    Act,
    UsesLedger,
    at_once,
    batch,
    claim,
    close,
    due,
    each_alone,
    ended,
    in_one,
    named,
    new_run,
    run_of,
    step,
)
from agentic.core.testing.ledger.decisions import decision

ASKING = named(executor="asking")
FREE = named(executor="free")
ORIGIN = "work.0.0"
HELD = Lease(FIRST, 1)


class StopError(Exception):
    """Ends a transaction."""


# Every method that writes, each with data to write in a ledger that is prepared as below.
WRITES: Mapping[str, Act] = {
    "add_run": lambda ledger: ledger.add_run(replace(new_run(run_id=OTHER), idempotency_key="key")),
    "advance": lambda ledger: ledger.advance(
        RUN, 0, 1, replace(step(2, 1, due(2, superstep=1), changes={"a": None}), events=[batch(4, 5)])
    ),
    "advance anew": lambda ledger: ledger.advance(RUN, 0, 1, step(2, 0, due(3, lanes=1))),
    "advance to the end": lambda ledger: ledger.advance(CHILD, 0, 1, ended(run_id=CHILD)),
    "advance to a rest": lambda ledger: ledger.advance(RUN, 0, 1, ended(RunStatus.WAITING_INPUT)),
    "request_cancel": lambda ledger: ledger.request_cancel(RUN, "a reason"),
    "pause": lambda ledger: ledger.pause(RUN, is_paused=True),
    "note": lambda ledger: ledger.note(RUN, "a note"),
    "claim": lambda ledger: claim(ledger, FREE),
    "extend": lambda ledger: ledger.extend([HELD], LONG_S),
    "settle": lambda ledger: ledger.settle(HELD, replace(DONE, progress='"tried"')),
    "settle and skip": lambda ledger: ledger.settle(HELD, replace(DONE, skips_rest=True)),
    "settle for a crash": lambda ledger: ledger.settle(HELD, replace(RELEASED, is_crash=True)),
    "keep_effect": lambda ledger: ledger.keep_effect(HELD, ORIGIN, "another", "2"),
    "retry": lambda ledger: ledger.retry(ASKING),
    "mark_dispatched": lambda ledger: ledger.mark_dispatched([FREE]),
    "mark_published": lambda ledger: ledger.mark_published([batch(1, 3)]),
    "add_decisions": lambda ledger: ledger.add_decisions([decision(2)]),
    "mark_decisions": lambda ledger: ledger.mark_decisions([decision(1).id]),
}

each_write = pytest.mark.parametrize(
    "write", [pytest.param(write, id=name) for name, write in WRITES.items()]
)


class LedgerTransactionsContract(UsesLedger):
    """Kept and undone writes."""

    @pytest.fixture
    def prepared(self, store: LedgerStore) -> LedgerStore:
        """Return a ledger with data to write for every method."""
        in_one(store, _prepare)
        return store

    @each_write
    def test_what_a_transaction_wrote_is_kept(self, prepared: LedgerStore, write: Act) -> None:
        before = in_one(prepared, _everything)
        in_one(prepared, write)
        assert in_one(prepared, _everything) != before

    @each_write
    def test_a_transaction_that_raises_leaves_nothing(self, prepared: LedgerStore, write: Act) -> None:
        before = in_one(prepared, _everything)
        with _undone(prepared) as ledger:
            write(ledger)
        assert in_one(prepared, _everything) == before
        in_one(prepared, write)
        assert in_one(prepared, _everything) != before

    @each_write
    def test_a_part_that_raises_leaves_nothing_of_itself(self, prepared: LedgerStore, write: Act) -> None:
        with prepared.transaction() as ledger:
            ledger.note(CHILD, "before")
            before = _everything(ledger)
            _write_in_vain(ledger, write)
            assert _everything(ledger) == before
            ledger.pause(CHILD, is_paused=True)
            wanted = _everything(ledger)
        assert in_one(prepared, _everything) == wanted != before

    @each_write
    def test_a_part_that_ends_well_is_kept(self, prepared: LedgerStore, write: Act) -> None:
        before = in_one(prepared, _everything)
        with prepared.transaction() as ledger:
            with ledger.savepoint():
                write(ledger)
            wanted = _everything(ledger)
        assert in_one(prepared, _everything) == wanted != before

    @each_write
    def test_a_part_that_ended_well_goes_with_its_transaction(
        self, prepared: LedgerStore, write: Act
    ) -> None:
        before = in_one(prepared, _everything)
        with _undone(prepared) as ledger, ledger.savepoint():
            write(ledger)
        assert in_one(prepared, _everything) == before

    def test_a_part_may_have_parts(self, prepared: LedgerStore) -> None:
        with prepared.transaction() as ledger:
            with suppress(StopError), ledger.savepoint():
                ledger.note(RUN, "undone with the outer one")
                with ledger.savepoint():
                    claim(ledger, FREE)
                raise StopError
            with ledger.savepoint():
                _write_in_vain(ledger, lambda ledger: ledger.pause(RUN, is_paused=True))
                ledger.request_cancel(RUN, "kept")
        found = in_one(prepared, run_of)
        assert (found.note, found.is_paused, found.cancel_reason) == (None, False, "kept")
        free = in_one(prepared, lambda ledger: ledger.activation(FREE))
        assert free is not None
        assert free.fence == 0

    def test_several_writes_of_a_transaction_are_undone_together(self, prepared: LedgerStore) -> None:
        before = in_one(prepared, _everything)
        with _undone(prepared) as ledger:
            for name in ("claim", "keep_effect", "settle", "retry", "mark_published", "add_run", "advance"):
                WRITES[name](ledger)
            close(ledger, named(superstep=1))
            ledger.advance(RUN, 1, 2, step(3, 1, due(4, superstep=1), changes={"a": "1", "b": None}))
            ledger.advance(RUN, 1, 3, ended(revision=4))
        assert in_one(prepared, _everything) == before

    @pytest.mark.parametrize("error", [StopError("mine"), KeyboardInterrupt("mine")], ids=repr)
    def test_whatever_ends_a_transaction_is_passed_on(
        self, prepared: LedgerStore, error: BaseException
    ) -> None:
        with pytest.raises(type(error)) as caught:
            in_one(prepared, lambda ledger: _fail(ledger, error))
        assert caught.value is error
        assert in_one(prepared, run_of).note is None

    def test_a_refused_run_does_not_spoil_the_rest(self, prepared: LedgerStore) -> None:
        with prepared.transaction() as ledger:
            ledger.note(RUN, "before")
            with suppress(RunExistsError), ledger.savepoint():
                ledger.add_run(new_run())
            ledger.add_run(new_run(run_id=OTHER))
        assert in_one(prepared, run_of).note == "before"
        assert in_one(prepared, lambda ledger: ledger.run(OTHER)) is not None

    def test_a_transaction_knows_at_each_moment_whether_something_is_open(self, store: LedgerStore) -> None:
        with store.transaction() as ledger:
            ledger.add_run(new_run(due(3)))
            close(ledger)
            close(ledger, named(1))
            assert ledger.has_open(RUN, 0)
            _write_in_vain(ledger, lambda ledger: close(ledger, named(2)))
            assert ledger.has_open(RUN, 0)
            close(ledger, named(2))
            assert not ledger.has_open(RUN, 0)
            assert ledger.advance(RUN, 0, 1, step(2, 0, due(1)))
            assert ledger.has_open(RUN, 0)
            close(ledger)
            assert ledger.advance(RUN, 0, 2, step(3, 1, due(1, superstep=1)))
            assert not ledger.has_open(RUN, 0)
            assert ledger.has_open(RUN, 1)

    def test_a_transaction_sees_what_it_wrote(self, prepared: LedgerStore) -> None:
        with prepared.transaction() as ledger:
            assert ledger.settle(HELD, DONE)
            assert ledger.advance(RUN, 0, 1, step(2, 1, due(superstep=1), changes={"a": "new"}))
            claimed = ledger.claim(named(superstep=1), "worker", CLAIMS_S)
            assert claimed is not None
            assert claimed.revision == 2
            assert ledger.load(RUN).parts["a"] == "new"

    def test_nobody_sees_half_of_what_a_transaction_writes(self, prepared: LedgerStore) -> None:
        has_begun = Event()

        def look() -> str | None:
            has_begun.set()
            return in_one(prepared, run_of).note

        with ThreadPoolExecutor(1) as threads:
            with prepared.transaction() as ledger:
                ledger.note(RUN, "half")
                seen = threads.submit(look)
                has_begun.wait()
                ledger.note(RUN, "whole")
            assert seen.result() in {None, "whole"}

    def test_nobody_sees_what_a_transaction_wrote_and_undid(self, prepared: LedgerStore) -> None:
        def spoil(number: int) -> object:
            if number % 2:
                return in_one(prepared, run_of).note
            with _undone(prepared) as ledger:
                ledger.note(RUN, "never seen")
            return None

        for _ in range(10):
            assert at_once(4, spoil) == [None] * 4

    def test_writes_of_many_transactions_at_once_are_all_kept(self, store: LedgerStore) -> None:
        ledger = each_alone(store)

        def write(number: int) -> None:
            for turn in range(5):
                ledger.add_run(new_run(run_id=f"{number}.{turn}"))

        at_once(4, write)
        assert len(in_one(store, lambda ledger: ledger.list_runs())) == 20

    def test_calling_no_functions_needs_no_session(self, prepared: LedgerStore) -> None:
        before = in_one(prepared, _everything)
        in_one(prepared, lambda ledger: ledger.apply([]))
        assert in_one(prepared, _everything) == before


def _prepare(ledger: LedgerTransaction) -> None:
    beside = [
        replace(due(executor=name)[0], position=9 + number)
        for number, name in enumerate(("asking", "waiting", "free"))
    ]
    first = step(activations=[*due(3, lanes=1), *beside], changes={"a": "1", "b": "2"})
    ledger.add_run(replace(new_run(), step=replace(first, events=[batch(1, 3)])))
    ledger.add_run(new_run(run_id=CHILD))
    assert claim(ledger) == HELD
    close(ledger, ASKING, IN_REVIEW)
    close(ledger, named(executor="waiting"), WAITING)
    ledger.keep_effect(HELD, ORIGIN, "key", "1")
    ledger.add_decisions([decision(1)])


def _everything(ledger: LedgerTransaction) -> object:
    """Return all readable data."""
    runs = ledger.list_runs()
    states = [(ledger.load(run.run_id), ledger.events(run.run_id)) for run in runs]
    told = (ledger.undispatched(older_than_s=0.0), ledger.claimable(["agentic.default"], limit=99))
    decided = (ledger.decisions(), ledger.decisions(unpublished=True))
    kept = (ledger.unpublished(), ledger.effects(RUN, ORIGIN))
    return (runs, states, ledger.list_activations(), told, decided, kept)


@contextmanager
def _undone(store: LedgerStore) -> Iterator[LedgerTransaction]:
    """Begin a transaction that raises at its end."""
    with suppress(StopError), store.transaction() as ledger:
        yield ledger
        raise StopError


def _fail(ledger: LedgerTransaction, error: BaseException) -> None:
    ledger.note(RUN, "in vain")
    with ledger.savepoint():
        raise error


def _write_in_vain(ledger: LedgerTransaction, write: Act) -> None:
    with suppress(StopError), ledger.savepoint():
        write(ledger)
        raise StopError

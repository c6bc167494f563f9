"""Keeps the claims of this process alive, and reads from the ledger whether they change."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from agentic.core.ledger import Lease, LeaseState, LedgerError, LedgerStore
from agentic.core.logging import get_logger
from agentic.executors.durable.worker.ledger_executor import in_transaction

log = get_logger(__name__)

LEASE_S = 30.0
MAX_BEAT_S = 2.0
"""A cancellation is noticed within this time."""

OnChange = Callable[[LeaseState], None]


class Leases:
    """Extends leases from a plain thread: an event loop that is blocked must not lose them.

    Args:
        store: The ledger.
        lease_s: How long a claim lasts unless it is extended.
    """

    def __init__(self, store: LedgerStore, lease_s: float = LEASE_S) -> None:
        self.lease_s = lease_s
        self._store = store
        self._held: dict[Lease, Callable[[LeaseState], None]] = {}
        self._lock = threading.Lock()
        self._is_over = False
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def held(self, lease: Lease, on_change: OnChange) -> Iterator[None]:
        """Extend a lease while the block runs.

        Args:
            lease: The lease of a claim.
            on_change: Called on the event loop when the lease is lost, or its run must be cancelled.
        """
        loop = asyncio.get_running_loop()

        def tell(state: LeaseState) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(on_change, state)

        with self._lock:
            self._held[lease] = tell
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="agentic-leases", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._held[lease]

    def look(self) -> None:
        """Ask the ledger now: something may have changed."""
        self._wake.set()

    def close(self) -> None:
        """End the thread."""
        self._is_over = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _serve(self) -> None:
        pause_s = min(self.lease_s / 3, MAX_BEAT_S)
        was_away = False
        while not self._is_over:
            self._wake.wait(pause_s)
            self._wake.clear()
            try:
                self._beat()
            except LedgerError as exc:
                # Claimed work continues: in the end the fence decides whether it counts.
                if not was_away:
                    log.warning("ledger.unavailable", reason=str(exc))
                was_away = True
            else:
                if was_away:
                    log.info("ledger.available")
                was_away = False

    def _beat(self) -> None:
        with self._lock:
            held = dict(self._held)
        if not held:
            return
        leases = list(held)
        states = in_transaction(self._store, lambda transaction: transaction.extend(leases, self.lease_s))
        for lease, state in zip(leases, states, strict=True):
            if state is not LeaseState.HELD:
                held[lease](state)

"""The PostgreSQL server of our own tests: one that also breaks down."""

from __future__ import annotations

from agentic.executors.testing import postgres


class PostgresServer(postgres.PostgresServer):
    """A server that can be stopped, and cut off."""

    def stop(self) -> None:
        """Stop the server at once, as a crash would: what it was doing is lost, what is committed is not."""
        self.end(b"\n")

    def is_in_a_queue(self) -> bool:
        """Whether a statement waits for a lock."""
        with self.connect() as connection:
            waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            return connection.execute(waiting).fetchone() is not None

    def cut_off(self, database: str) -> None:
        """Close the connections to a database, as a network or an administrator would."""
        with self.connect() as connection:
            close = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s"
            connection.execute(close, [database])

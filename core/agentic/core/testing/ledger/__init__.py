"""The parts of the suite for ledgers: :class:`agentic.core.testing.LedgerContract` has them all."""

"""Tells others of durable runs: workers, the bus, the audit."""

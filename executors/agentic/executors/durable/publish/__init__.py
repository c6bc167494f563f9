"""Reports durable runs to others: workers, the bus, the audit."""

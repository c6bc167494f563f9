"""One process that works on durable runs."""

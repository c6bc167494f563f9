"""One process at work on durable runs."""

"""The parts of a workflow: executors, edges, and the context of handlers."""

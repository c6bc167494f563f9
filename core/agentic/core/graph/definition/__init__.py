"""What a workflow is made of: executors, edges, and the context of handlers."""

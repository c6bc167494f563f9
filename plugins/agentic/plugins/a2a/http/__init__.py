"""A2A over HTTP."""

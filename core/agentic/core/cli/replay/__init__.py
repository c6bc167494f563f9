"""``agentic events replay``: a run that is told again, step by step."""

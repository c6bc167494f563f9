"""The records of a run: messages, events, state, policies."""

"""Memory of agents: knowledge of a person beyond the conversation."""

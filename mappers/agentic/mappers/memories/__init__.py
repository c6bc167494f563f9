"""The memories of agents in SQL."""

"""The threads of agents in SQL."""

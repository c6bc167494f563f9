"""Executions of agents: create, run and end them, and keep their records."""

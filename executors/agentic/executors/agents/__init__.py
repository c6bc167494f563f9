"""Agents as executions: made, run, ended, and their records."""

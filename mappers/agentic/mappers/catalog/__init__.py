"""Projects, agents, executions, schedules and pipelines."""

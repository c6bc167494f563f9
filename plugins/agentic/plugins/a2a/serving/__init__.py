"""Serves an agent: takes messages, works on tasks, and continues the tasks of dead servers."""

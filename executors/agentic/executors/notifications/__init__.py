"""Notifications about executions: decided when an execution ends, sent from the outbox."""

"""Metrics for Prometheus, read from the database."""

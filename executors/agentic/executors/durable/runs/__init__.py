"""Durable runs: accepted, found, controlled, awaited."""

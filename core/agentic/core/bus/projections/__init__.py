"""Live state and patterns, derived from events."""

"""Turns: one input to an agent, and all work for it."""

"""Durable runs: accept, find, control and await them."""

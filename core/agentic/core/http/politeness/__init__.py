"""Rates, turns and robots.txt: polite requests to hosts."""

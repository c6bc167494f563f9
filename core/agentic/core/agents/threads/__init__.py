"""Threads: the state of conversations, and their stores."""

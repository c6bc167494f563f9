"""Validators in a row, candidates side by side, parts as they come: parts of the loops that write code."""

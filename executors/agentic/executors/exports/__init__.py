"""Exports an execution's rows to files for other programs: JSON lines and CSV."""

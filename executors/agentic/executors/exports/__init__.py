"""The rows an execution gave, as files for other programs: JSON lines and CSV."""

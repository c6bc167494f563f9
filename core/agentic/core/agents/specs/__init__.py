"""Agents as data: read from YAML or JSON, checked, and built where they run."""

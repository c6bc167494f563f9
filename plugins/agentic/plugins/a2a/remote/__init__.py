"""Agents of other systems as agents of ours."""

"""Tells one version of a workflow from another."""

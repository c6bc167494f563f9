"""Repairs of pipelines: proposals of changes to a spec, each with its evidence."""

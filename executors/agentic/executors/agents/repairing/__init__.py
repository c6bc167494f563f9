"""Repairs of agents' pipelines: how their crawls reach the stored ones."""

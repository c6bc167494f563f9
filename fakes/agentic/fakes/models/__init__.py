"""Fake language models."""

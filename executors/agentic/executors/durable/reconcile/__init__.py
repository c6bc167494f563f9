"""Recovers abandoned runs."""

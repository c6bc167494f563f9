"""Runs workflows in this process."""

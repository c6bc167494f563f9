"""Platforms and tools shipped in the wheel, loaded exactly as foreign plugins are."""

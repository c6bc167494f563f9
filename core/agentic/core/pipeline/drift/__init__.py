"""Drift: whether the pages of a crawl still look like healthy ones."""

"""The crawl step: slices, pages, the frontier, and statistics."""

"""A fake of Reddit: its API, its feeds and pages, and an archive of it."""

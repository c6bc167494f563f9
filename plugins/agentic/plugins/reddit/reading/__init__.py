"""The ways to read Reddit: its API, its feeds, its pages, and an archive."""

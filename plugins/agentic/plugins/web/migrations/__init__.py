"""Alembic migrations of `web_pages` and `items`."""

"""Alembic migrations of `web_pages`, `web_contents`, `web_links` and `items`."""

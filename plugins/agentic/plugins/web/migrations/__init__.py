"""Alembic migrations of `web_pages`, `web_contents`, `web_links`, `web_files` and `items`."""

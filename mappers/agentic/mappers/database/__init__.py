"""Connections, sessions and statements on SQLite and PostgreSQL."""

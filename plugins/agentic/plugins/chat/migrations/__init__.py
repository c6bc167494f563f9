"""Migrations of the table of turns."""

"""Migrations of the tables of GitHub."""

"""Migrations of the tables of Hacker News."""

"""Migrations of the tables of Reddit."""

"""Migrations of the tables of Firecrawl."""

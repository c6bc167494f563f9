"""Hacker News: its Firebase API and Algolia's search."""

"""Redesigns of pages: operators on any HTML, and orders to the fakes."""

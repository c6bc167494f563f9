"""Rows into the tables of platforms."""

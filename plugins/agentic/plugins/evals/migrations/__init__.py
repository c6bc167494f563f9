"""Migrations of the table of tried cases."""

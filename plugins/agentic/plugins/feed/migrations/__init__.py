"""Migrations of the tables of watched feeds."""

"""How the tables of Reddit came to be."""

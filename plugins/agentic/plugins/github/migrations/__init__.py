"""How the tables of GitHub came to be."""

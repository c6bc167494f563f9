"""How the tables of watched feeds came to be."""

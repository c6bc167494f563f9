"""How the tables of Hacker News came to be."""

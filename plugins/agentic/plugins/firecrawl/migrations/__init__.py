"""How the tables of Firecrawl came to be."""

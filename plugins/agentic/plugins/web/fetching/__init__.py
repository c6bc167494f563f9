"""How pages are fetched: the input, the ways, and answers as pages."""

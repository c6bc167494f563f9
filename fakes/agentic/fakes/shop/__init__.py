"""A small shop: categories, search, products, pages that a script fills."""

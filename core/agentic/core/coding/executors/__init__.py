"""Code workers as nodes of a graph."""

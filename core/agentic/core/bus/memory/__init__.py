"""The bus of one process."""

"""Exports an execution's rows for other programs: files, URLs, tables of a database."""

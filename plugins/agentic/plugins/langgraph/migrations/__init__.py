"""Migrations of the tables of LangGraph's threads and runs."""

"""Graphs of LangGraph as nodes of our graphs, and our workflows as nodes of theirs."""

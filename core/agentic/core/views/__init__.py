"""Graphs and runs for people: pictures, text, and runs replayed from their events."""

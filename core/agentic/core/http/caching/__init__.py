"""Answers that are kept, and asked about again."""

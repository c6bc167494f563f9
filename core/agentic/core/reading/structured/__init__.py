"""Data that pages hold for machines."""

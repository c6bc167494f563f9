"""Actors that ask language models about pages, texts and items."""

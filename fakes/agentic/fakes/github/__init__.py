"""A fake of the REST API of GitHub."""

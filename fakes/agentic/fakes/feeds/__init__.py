"""The same entries in every feed format, and in feeds that are broken the usual ways."""

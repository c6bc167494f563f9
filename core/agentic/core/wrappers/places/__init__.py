"""Places that need no ranking: the old one of a field, and those in the data of pages."""

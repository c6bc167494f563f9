"""The frontier of crawls and the cache of answers in SQL."""

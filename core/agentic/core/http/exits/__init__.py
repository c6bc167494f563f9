"""The proxies of a fetcher that has several: which one is next, and which ones rest."""

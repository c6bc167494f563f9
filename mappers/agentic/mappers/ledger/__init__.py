"""The ledger in SQL: the one authority on runs in production."""

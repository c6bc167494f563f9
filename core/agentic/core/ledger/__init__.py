"""The ledger's records and port, and the ledger in memory."""

"""The ledger for people: lists, open requests, retention and totals."""

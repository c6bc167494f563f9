"""Tasks of an agent: an append-only log of each, in a bucket that all its servers share."""

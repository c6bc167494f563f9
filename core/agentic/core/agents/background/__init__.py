"""Background runs: an agent works elsewhere, and its caller asks for the answer with a token."""

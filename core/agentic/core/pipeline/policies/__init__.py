"""Rules for failures, and the attempts they allow."""

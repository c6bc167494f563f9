"""Rules for failures, and the tries they allow."""

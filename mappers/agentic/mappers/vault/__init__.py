"""The secrets, sessions and memory of projects; secret data is encrypted."""

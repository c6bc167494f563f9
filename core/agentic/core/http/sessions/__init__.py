"""Logins, cookies, and secrets in URLs."""

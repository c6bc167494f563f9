"""Logins: forms, tokens, cookies, and the sessions they give."""

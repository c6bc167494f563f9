"""Notifications: their rules, the outbox, and notes about new and changed rows."""

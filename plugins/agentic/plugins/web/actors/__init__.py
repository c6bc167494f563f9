"""The actors of the platform."""

"""Sandboxes made of processes of this machine."""

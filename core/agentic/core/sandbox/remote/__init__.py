"""Sandboxes of other machines, over the bus: a worker serves them, and a client runs jobs there."""

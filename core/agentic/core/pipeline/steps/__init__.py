"""The executors of steps, and the state between them."""

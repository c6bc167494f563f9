"""The executors that steps become, and the state between them."""

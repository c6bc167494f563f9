"""How the table came to be; `agentic db upgrade` runs what is in `versions`."""

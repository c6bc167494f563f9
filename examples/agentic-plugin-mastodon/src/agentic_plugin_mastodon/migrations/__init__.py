"""How the tables came to be; `agentic db upgrade` runs what is in `versions`."""

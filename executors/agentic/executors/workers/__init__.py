"""Worker processes: their loops, pulse, settings, and the services around them."""

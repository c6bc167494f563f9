"""Projects as a whole: what they own, and files of it."""

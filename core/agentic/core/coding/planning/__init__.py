"""Large tasks in parts: plans of them, locks on finished parts, and programs written part after part."""

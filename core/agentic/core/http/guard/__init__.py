"""Which addresses may be connected to."""

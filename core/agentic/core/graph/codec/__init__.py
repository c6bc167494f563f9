"""Values as JSON and back, by their declared types."""

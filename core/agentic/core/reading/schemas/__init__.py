"""JSON Schemas that people give, checked and applied in linear time."""

"""Documents, fields and structured data of pages."""

"""A newspaper: articles that carry structured data and change, and its sitemaps."""

"""A job board behind a login, as pages and as an API."""

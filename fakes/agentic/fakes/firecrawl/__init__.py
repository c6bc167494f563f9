"""A local Firecrawl v2 that really fetches the other fakes."""

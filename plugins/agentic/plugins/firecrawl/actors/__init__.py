"""The actors that use Firecrawl."""

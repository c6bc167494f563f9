"""The side of a server: a project as tools and resources of MCP clients."""

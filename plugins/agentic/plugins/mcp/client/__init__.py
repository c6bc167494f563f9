"""The side of a client: connections to MCP servers, and their tools as tools of agents."""

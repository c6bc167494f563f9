"""Pictures of a graph, behind :mod:`agentic.core.graph.viz`."""

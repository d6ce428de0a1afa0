"""Questions about a knowledge graph, answered with tools."""

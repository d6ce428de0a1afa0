"""Questions about a knowledge graph, answered with tools."""

from envhub_kg.env import KGEnv

__all__ = ["KGEnv"]

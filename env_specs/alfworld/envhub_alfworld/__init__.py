"""The ALFWorld environment: household tasks in text, played by rules of our own."""

from envhub_alfworld.env import AlfworldEnv

__all__ = ["AlfworldEnv"]

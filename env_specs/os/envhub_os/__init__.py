"""Tasks at the shell of a Linux machine, each on a machine of its own."""

from envhub_os.env import OSEnv

__all__ = ["OSEnv"]

"""An environment that says every action back."""

from envhub_echo.env import EchoEnv

__all__ = ["EchoEnv"]

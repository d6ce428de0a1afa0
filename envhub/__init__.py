"""EnvHub: environments for language agents, served over HTTP with the Gymnasium API."""

__version__ = "0.1.0"

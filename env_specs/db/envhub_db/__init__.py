"""Questions about databases and changes of them, in SQL, with MySQL's behaviour."""

from envhub_db.env import DBEnv

__all__ = ["DBEnv"]

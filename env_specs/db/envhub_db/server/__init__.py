"""Databases on a real MySQL or MariaDB: the same two protocols as the embedded engine.

Each episode has a database and a user of its own, who may do nothing outside of it. Both are dropped at its
end, and what a process that was killed has left behind is swept by the next one that comes.
"""

from envhub_db.server.engine import ServerEngine

__all__ = ["ServerEngine"]

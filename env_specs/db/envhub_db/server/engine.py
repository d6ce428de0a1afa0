"""The engine on a server: see `envhub_db.engine.Engine`."""

from __future__ import annotations

from collections.abc import Sequence

from envhub_db.engine import Limits, Settings, Table
from envhub_db.server.address import Address
from envhub_db.server.database import ServerDatabase
from envhub_db.server.keeper import Keeper


class ServerEngine:
    """Opens databases on a server. A process has one for all its replicas, and a forked one makes its own.

    Args:
        url: Where the server is, see `Address`.
        settings: How statements are judged and what the clock says.
        limits: What one statement may take. `database_bytes` is not enforced: a server's disk is bounded by a
            quota of its own; a statement that changes more than `result_rows` rows is undone.

    Raises:
        InvalidOptions: The address can't be read, or PyMySQL is not installed.
        ServerUnavailable: The server can't be used.
    """

    def __init__(self, url: str, settings: Settings | None = None, limits: Limits | None = None) -> None:
        self.settings = settings or Settings()
        self.limits = limits or Limits()
        self._keeper = Keeper(Address.parse(url))
        self._open: list[ServerDatabase] = []

    def open(self, tables: Sequence[Table], name: str = "db") -> ServerDatabase:
        """Open a database of its own for an episode."""
        database = ServerDatabase(self, self._keeper, name)
        self._open.append(database)
        try:
            database.load(tables)
        except BaseException:
            database.close()
            raise
        return database

    @property
    def busy(self) -> bool:
        """Whether a database is open."""
        return bool(self._open)

    def sweep(self) -> list[str]:
        """Drop what processes have left behind that are no more, and return the names."""
        return self._keeper.sweep()

    def forget(self, database: ServerDatabase) -> bool:
        """Take a database off the list of the open ones, and tell whether it was on it."""
        if database not in self._open:
            return False
        self._open.remove(database)
        return True

    def close(self) -> None:
        """Drop all that is open, and what others have left behind."""
        for database in list(self._open):
            database.close()
        self._keeper.sweep()
        self._keeper.close()

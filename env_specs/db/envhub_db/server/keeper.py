"""Who makes databases and users on a server, and sees to it that none are left behind.

A keeper has a name that is drawn at random, `envhub_` and 12 hexadecimal digits, and holds the server's lock
(`GET_LOCK`) of that name as long as it is connected. All that it makes begins with that name. The server
itself frees the lock when the keeper's process ends, however it ends. So who finds such a database and gets
the lock of its name knows that nobody uses it any more, on this machine or any other.
"""

from __future__ import annotations

import math
import re
import secrets
import time
from typing import Any

from envhub_db.errors import ServerUnavailable
from envhub_db.server.address import Address

PREFIX = "envhub_"
SWEEP_EVERY_S = 60.0
_NAME = re.compile(rf"({PREFIX}[0-9a-f]{{12}})_\d+")
_GRANTED = (
    "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, REFERENCES, CREATE VIEW, SHOW VIEW, "
    "CREATE TEMPORARY TABLES"
)
"""What a user may do in its own database. Nowhere else may it do anything: no FILE, no PROCESS, no routines,
no events."""
_CONNECTIONS = 3
"""Of one user at a time: one is used, one may be about to end."""
_LOST = (0, 1053, 1927, 2006, 2013, 2055)
_NO_ANSWER = (1044, 1142, 1227)  # denied: may not see users or processes
_GONE = (1094, 1095)  # killing: it has ended, or is not ours to end
_LONG_S = 31_536_000


class Keeper:
    """Makes databases with a user each, drops them, and sweeps what others left.

    Args:
        address: The server. The user needs CREATE USER, and all that sessions may do with GRANT OPTION.

    Attributes:
        mariadb: Whether the server is a MariaDB.

    Raises:
        ServerUnavailable: The server can't be reached.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._connection: Any = None
        self._name = PREFIX + secrets.token_hex(6)
        self._made = 0
        self._swept = -math.inf
        self._connect()
        self.mariadb = "mariadb" in str(self._run("SELECT VERSION()")[0][0]).lower()

    def create(self) -> tuple[str, str]:
        """Make a database and a user of the same name, and return name and password."""
        if time.monotonic() - self._swept > SWEEP_EVERY_S:
            self.sweep()
        self._made += 1
        name, password = f"{self._name}_{self._made}", secrets.token_urlsafe(18)
        collation = "utf8mb4_unicode_520_nopad_ci" if self.mariadb else "utf8mb4_0900_ai_ci"
        try:
            self._run(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4 COLLATE {collation}")
            self._run(
                f"CREATE USER '{name}'@'{self._host}' IDENTIFIED BY '{password}' "
                f"WITH MAX_USER_CONNECTIONS {_CONNECTIONS}"
            )
            pattern = name.replace("_", "\\_")
            self._run(f"GRANT {_GRANTED} ON `{pattern}`.* TO '{name}'@'{self._host}'")
        except BaseException:
            self.drop(name)
            raise
        return name, password

    def empty(self, name: str) -> None:
        """Drop all that a database holds."""
        self._run(f"DROP DATABASE IF EXISTS `{name}`")
        collation = "utf8mb4_unicode_520_nopad_ci" if self.mariadb else "utf8mb4_0900_ai_ci"
        self._run(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4 COLLATE {collation}")

    def renew(self, name: str, password: str) -> None:
        """Give a user its password again: it may have changed it."""
        self._run(f"ALTER USER '{name}'@'{self._host}' IDENTIFIED BY '{password}'")

    def drop(self, name: str) -> None:
        """Drop a database and its user; what can't be dropped now is swept later."""
        self._drop(name, [self._host])

    def kill(self, connection_id: int) -> None:
        """End a connection, with what it is executing."""
        try:
            self._run(f"KILL CONNECTION {int(connection_id)}")
        except ServerUnavailable as error:
            if _number(error) not in (*_GONE, *_NO_ANSWER):
                raise

    def sweep(self) -> list[str]:
        """Drop what keepers have left behind that are no more, and return the names."""
        self._swept = time.monotonic()
        hosts: dict[str, list[str]] = {}
        for (name,) in self._run(
            f"SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE '{PREFIX}%'"
        ):
            hosts.setdefault(name, [])
        for name, host in self._seen(f"SELECT User, Host FROM mysql.user WHERE User LIKE '{PREFIX}%'"):
            hosts.setdefault(name, []).append(host)
        keepers: dict[str, list[str]] = {}
        for name in hosts:
            match = _NAME.fullmatch(name)
            if match and match[1] != self._name:
                keepers.setdefault(match[1], []).append(name)
        dropped = []
        for keeper, names in sorted(keepers.items()):
            if not self._run(f"SELECT GET_LOCK('{keeper}', 0)")[0][0]:
                continue
            try:
                if not self._busy(keeper):
                    for name in names:
                        self._drop(name, hosts[name] or [self._host])
                    dropped += names
            finally:
                self._run(f"SELECT RELEASE_LOCK('{keeper}')")
        return dropped

    def close(self) -> None:
        """End the connection, and with it the claim on the name."""
        connection, self._connection = self._connection, None
        if connection is not None:
            quietly_close(connection)

    @property
    def _host(self) -> str:
        return "localhost" if self.address.unix_socket else "%"

    def _busy(self, keeper: str) -> bool:
        """Tell whether a keeper's users are connected, as far as that may be seen."""
        return bool(
            self._seen(f"SELECT 1 FROM information_schema.PROCESSLIST WHERE USER LIKE '{keeper}\\_%' LIMIT 1")
        )

    def _seen(self, sql: str) -> Any:
        try:
            return self._run(sql)
        except ServerUnavailable as error:
            if _number(error) in _NO_ANSWER:
                return ()
            raise

    def _drop(self, name: str, hosts: list[str]) -> None:
        try:
            for host in hosts:
                self._run(f"DROP USER IF EXISTS '{name}'@'{host}'")
            self._run(f"DROP DATABASE IF EXISTS `{name}`")
        except ServerUnavailable as error:
            if _number(error) != 1205:  # something is still executed there: the next sweep has it
                raise

    def _connect(self) -> None:
        connection = self.address.connect(autocommit=True, read_timeout=60, write_timeout=60)
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION wait_timeout = {_LONG_S}, lock_wait_timeout = 5")
            while True:
                cursor.execute(f"SELECT GET_LOCK('{self._name}', 0)")
                if cursor.fetchone()[0]:
                    break
                self._name = PREFIX + secrets.token_hex(6)  # swept while this was not connected
        self._connection = connection

    def _run(self, sql: str) -> Any:
        """Execute a statement, on a new connection where the last one was lost.

        Raises:
            ServerUnavailable: The server can't be reached, or refuses.
        """
        import pymysql

        if self._connection is None:
            self._connect()
        try:
            return self._once(sql)
        except pymysql.Error as error:
            if _number(error) not in _LOST:
                raise self._refused(error) from error
        self.close()
        self._connect()
        try:
            return self._once(sql)
        except pymysql.Error as error:
            raise self._refused(error) from error

    def _once(self, sql: str) -> Any:
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql)
                return cursor.fetchall()
        except Exception:
            raise
        except BaseException:  # a time limit, in the middle of a conversation
            self.close()
            raise

    def _refused(self, error: Exception) -> ServerUnavailable:
        return ServerUnavailable(f"the database server {self.address} can't be used: {error}")


def _number(error: Exception) -> Any:
    """MySQL's number of an error, or of the one behind it."""
    arguments = (error.__cause__ or error).args
    return arguments[0] if arguments else None


def quietly_close(connection: Any) -> None:
    """Close a connection that may be gone already."""
    try:
        connection.close()
    except Exception:
        pass

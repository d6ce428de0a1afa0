"""Where a server is: `mysql://user:password@host:3306/?unix_socket=/path&tls=true`.

PyMySQL connects: pure Python of 47 KB, for Python 3.9 and newer, without requirements. A worker executes one
statement at a time and waits for it, so an asyncio driver (asyncmy, aiomysql) would gain nothing, and a
compiled one (mysqlclient) would need a compiler and the server's headers to save microseconds of a round
trip. The module is only imported where a server is asked for.
"""

from __future__ import annotations

import functools
import os
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from envhub_db.errors import InvalidOptions, ServerUnavailable

_EXAMPLE = "mysql://user:password@host:3306/ or mysql://user@localhost/?unix_socket=/run/mysqld/mysqld.sock"
_PARAMETERS = ("unix_socket", "tls")
CONNECT_TIMEOUT_S = 10
_ADVICE = {
    1040: "Raise its max_connections, to one for each worker and each replica, or serve fewer replicas",
    1045: "See to user and password in url",
    2003: "Start it, or see to the address in url",
}
"""What mends it, by MySQL's number."""


@dataclass(frozen=True)
class Address:
    """Where a server is, and who administers it.

    Attributes:
        host: Its name or address, where no socket is given.
        port: TCP port.
        user: Who may create databases and users.
        password: Theirs; it is never shown.
        unix_socket: Path of a socket; empty: TCP.
        tls: Encrypt, and check the server's certificate.
    """

    host: str
    port: int
    user: str
    password: str
    unix_socket: str = ""
    tls: bool = False

    def __repr__(self) -> str:
        return f"{self.user}@{self.unix_socket or f'{self.host}:{self.port}'}"

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read an address.

        Raises:
            InvalidOptions: It is none. The message does not repeat the text, which may have a password in it.
        """
        try:
            parts = urlsplit(url)
            port = parts.port or 3306
        except ValueError as error:
            raise InvalidOptions(f"url can't be read: {error}. It is like {_EXAMPLE}") from None
        given = {key: values[-1] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        unknown = sorted(set(given) - set(_PARAMETERS))
        if unknown:
            raise InvalidOptions(f"url has no parameter {unknown[0]!r}: there are {', '.join(_PARAMETERS)}")
        if parts.scheme not in ("mysql", "mariadb") or not parts.username:
            raise InvalidOptions(f"url needs mysql:// or mariadb:// and a user: it is like {_EXAMPLE}")
        if parts.path.strip("/"):
            raise InvalidOptions("url names a database, but each episode gets one of its own: leave it out")
        return cls(
            host=parts.hostname or "localhost",
            port=port,
            user=unquote(parts.username),
            password=unquote(parts.password or ""),
            unix_socket=given.get("unix_socket", ""),
            tls=given.get("tls", "").lower() in ("1", "true", "yes"),
        )

    def connect(self, **settings: Any) -> Any:
        """Open a connection, as the administrator unless `user` says otherwise.

        Args:
            settings: Further arguments of `pymysql.connect`.

        Raises:
            InvalidOptions: PyMySQL is not installed.
            ServerUnavailable: The server can't be reached or refuses.
        """
        try:
            import pymysql
        except ImportError:
            raise InvalidOptions(
                "url needs PyMySQL: pip install 'envhub[serve]' has it, or pip install pymysql"
            ) from None
        if self.unix_socket and not os.path.exists(self.unix_socket):
            raise ServerUnavailable(
                f"the database server {self} can't be used: there is no such socket. {_ADVICE[2003]}"
            )
        where = (
            {"unix_socket": self.unix_socket} if self.unix_socket else {"host": self.host, "port": self.port}
        )
        encryption = {"ssl": _tls()} if self.tls else {"ssl_disabled": True}
        who = {"user": self.user, "password": self.password}
        try:
            return pymysql.connect(
                **{
                    "charset": "utf8mb4",
                    "connect_timeout": CONNECT_TIMEOUT_S,
                    **where,
                    **encryption,
                    **who,
                    **settings,
                }
            )
        except (pymysql.Error, OSError, RuntimeError) as error:  # RuntimeError: a login needs `cryptography`
            advice = _ADVICE.get(error.args[0] if error.args else None, "")
            raise ServerUnavailable(
                f"the database server {self} can't be used: {error}{advice and f'. {advice}'}"
            ) from error


@functools.lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()

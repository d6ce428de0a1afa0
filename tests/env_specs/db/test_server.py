"""Databases on a real server: limits, names, what is left behind, and what is swept."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from envhub_db import DBEnv
from envhub_db.engine import Column, DatabaseError, Limits, Settings, Table
from envhub_db.errors import InvalidOptions, JudgementFailed, ServerUnavailable
from envhub_db.server import ServerEngine
from envhub_db.server.address import Address
from envhub_db.server.database import ServerDatabase

RACES = Table("50% races", [Column("Year"), Column("Winner")], [("1987", "Fuji"), ("1988", "Eno")])
MANY = "information_schema.COLLATIONS a, information_schema.COLLATIONS b"
"""Two tables with more than 100,000 rows together."""


@pytest.fixture
def administrator(url: str) -> Iterator[Callable[[str], Any]]:
    """Executes a statement as the server's administrator."""
    connection = Address.parse(url).connect(autocommit=True)

    def run(sql: str) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    yield run
    connection.close()


@pytest.fixture
def server(url: str) -> Iterator[ServerEngine]:
    """An engine with a small limit for results; statements may take long, since machines may stall."""
    engine = ServerEngine(url, limits=Limits(seconds=30, result_rows=1000, result_bytes=1_000_000))
    yield engine
    engine.close()


@pytest.fixture
def database(server: ServerEngine) -> ServerDatabase:
    """An open database."""
    return server.open([RACES], "dbbench")


def left(run: Callable[[str], Any]) -> list[Any]:
    """What there is of ours on the server: databases, users, connections."""
    return [
        *run("SHOW DATABASES LIKE 'envhub%'"),
        *run("SELECT User FROM mysql.user WHERE User LIKE 'envhub%'"),
        *run("SELECT USER FROM information_schema.PROCESSLIST WHERE USER LIKE 'envhub%'"),
    ]


def number(database: ServerDatabase, sql: str) -> int:
    with pytest.raises(DatabaseError) as failed:
        database.execute(sql)
    return failed.value.number


def test_nothing_is_left_when_all_is_closed(
    url: str, administrator: Callable[[str], Any], wait_until: Callable[..., None]
) -> None:
    engine = ServerEngine(url)
    databases = [engine.open([RACES], "dbbench") for _ in range(5)]
    assert len(left(administrator)) == 15 and engine.busy
    databases[0].close()
    databases[0].close()
    with pytest.raises(DatabaseError):
        engine.open([RACES, RACES])
    wait_until(lambda: len(left(administrator)) == 12)  # a server ends a connection after its client
    engine.close()
    wait_until(lambda: left(administrator) == [])
    assert not engine.busy
    engine.open([RACES]).close()  # it connects again
    engine.close()


def test_what_the_database_is_really_called_is_never_seen(database: ServerDatabase) -> None:
    (seen,) = database.execute("SELECT DATABASE(), CURRENT_USER(), 'dbbench' = DATABASE()").rows
    assert seen == ("dbbench", "dbbench@localhost", 1)
    assert database.execute("SELECT Winner FROM dbbench.`50% races` WHERE Year < 1988").rows == [("Fuji",)]
    assert database.execute("SHOW TABLES").columns == ("Tables_in_dbbench",)
    assert ("dbbench",) in database.execute("SHOW DATABASES").rows
    with pytest.raises(DatabaseError, match=r"1146 \(42S02\): Table 'dbbench.nowhere' doesn't exist"):
        database.execute("SELECT * FROM nowhere")
    assert database.tables() == ["50% races"] and len(database.table_rows("50% races")) == 2


@pytest.mark.parametrize(
    ("sql", "errors"),
    [
        ("SELECT 1 INTO OUTFILE '/tmp/envhub-test'", {1227, 1045}),
        ("LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE `50% races`", {4166, 1148, 3948}),
        ("LOAD DATA INFILE '/etc/hostname' INTO TABLE `50% races`", {1227, 1045}),
        ("SELECT User FROM mysql.user", {1142}),
        ("CREATE DATABASE other", {1044}),
        ("CREATE USER someone", {1227}),
        ("GRANT ALL ON *.* TO CURRENT_USER()", {1044, 1045}),
        ("SET GLOBAL max_connections = 1", {1227}),
        ("CREATE PROCEDURE p() SELECT 1", {1044}),
        ("CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO SELECT 1", {1044}),
        ("SHUTDOWN", {1227}),
        ("XA START 'a'", {1235}),
        ("PREPARE s FROM 'XA START \"a\"'", {1235}),
        ("/* so */ EXECUTE IMMEDIATE 'SELECT 1'", {1235}),
        ("BEGIN NOT ATOMIC SELECT 1; END", {1235}),
        ("SET STATEMENT max_statement_time = 0 FOR SELECT 1", {1235}),
        ("/*! XA START 'a' */", {1064}),
        ("here: BEGIN NOT ATOMIC SELECT 1; END", {1064}),
        ("SELECT 1; SELECT 2", {1064}),
        ("SELEC 1", {1064}),
        ("", {1065}),
        ("-- nothing", {1065}),
        ("SELECT '" + "x" * 300_000 + "'", {1153}),
    ],
)
def test_what_may_not_be_done(database: ServerDatabase, sql: str, errors: set[int]) -> None:
    assert number(database, sql) in errors
    assert database.execute("SELECT COUNT(*) FROM `50% races`").rows == [(2,)]


def test_no_file_is_read(database: ServerDatabase) -> None:
    assert database.execute("SELECT LOAD_FILE('/etc/hostname')").rows == [(None,)]


def test_of_processes_only_the_own_is_seen(database: ServerDatabase) -> None:
    assert len(database.execute("SHOW PROCESSLIST").rows) == 1


def test_a_statement_that_takes_too_long_is_ended(url: str) -> None:
    engine = ServerEngine(url, limits=Limits(seconds=0.2))
    database = engine.open([RACES], "dbbench")
    assert number(
        database, f"SELECT SUM(LENGTH(CONCAT(a.ID, b.ID, c.ID))) FROM {MANY}, information_schema.COLLATIONS c"
    ) in (
        1969,
        3024,
    )
    database.execute("SET max_statement_time = 0")  # the limit is not the agent's to set
    assert database.execute("SELECT @@max_statement_time").rows == [(0.2,)]
    engine.close()


def test_a_statement_that_the_server_does_not_end_is_ended_with_its_connection(
    url: str, administrator: Callable[[str], Any]
) -> None:
    engine = ServerEngine(url, limits=Limits(seconds=0.1))
    database = engine.open([RACES], "dbbench")
    database._run("SET max_statement_time = 0")
    assert number(database, "SELECT SLEEP(1000)") == 3024
    assert database.execute("SELECT COUNT(*) FROM `50% races`").rows == [(2,)]
    running = administrator("SELECT INFO FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%'")
    assert running == ()
    engine.close()


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        (f"SELECT a.ID FROM {MANY}", 1104),
        (f"SELECT REPEAT('x', 100000) FROM {MANY}", 1104),
        (f"INSERT INTO `50% races` SELECT a.ID, b.ID FROM {MANY}", 1114),
    ],
)
def test_a_result_has_a_limit_and_a_change_too(database: ServerDatabase, sql: str, error: int) -> None:
    assert number(database, sql) == error
    assert database.execute("SELECT COUNT(*) FROM `50% races`").rows == [(2,)]


def test_it_goes_on_whatever_an_agent_does_to_its_own_connection(database: ServerDatabase) -> None:
    database.execute("SET PASSWORD = PASSWORD('mine')")
    assert number(database, "KILL CONNECTION_ID()") in (1927, 2013)
    database.execute("SET NAMES latin1")
    assert database.execute("SELECT 'é'").rows == [("é",)]
    database.execute("DROP DATABASE dbbench")
    database.reconnect()
    assert number(database, "SHOW TABLES") == 1046
    assert database.tables() == []


def test_clock_and_chance_are_the_episodes(server: ServerEngine) -> None:
    one, other = (server.open([RACES], "dbbench") for _ in range(2))
    sql = "SELECT NOW(), RAND(), RAND()"
    assert one.execute(sql) == other.execute(sql)
    assert str(one.execute("SELECT NOW()").rows[0][0]) == str(Settings().now)


def test_what_can_not_be_done_again_is_not_taken_for_the_same(server: ServerEngine) -> None:
    database = server.open([RACES], "dbbench")
    database.execute("CREATE TABLE ids (id TEXT)")
    fork = database.fork()
    assert fork.tables() == ["50% races", "ids"]
    database.execute("INSERT INTO ids VALUES (UUID())")
    with pytest.raises(ServerUnavailable, match="other tables"):
        database.fork()


def test_strict_mode_is_a_setting(url: str) -> None:
    sql = "UPDATE `50% races` SET Winner = 'Ida' WHERE Winner = 5"
    for strict in (False, True):
        engine = ServerEngine(url, Settings(strict=strict))
        database = engine.open([RACES])
        if strict:
            assert number(database, sql) == 1292
        else:
            assert database.execute(sql).affected == 0
        engine.close()


LEAVER = """
import os, sys
sys.path.insert(0, {path!r})
from envhub_db.engine import Column, Table
from envhub_db.server import ServerEngine
engine = ServerEngine({url!r})
databases = [engine.open([Table("t", [Column("a")], [("1",)])]) for _ in range(3)]
print("open", flush=True)
sys.stdin.read()
"""


def test_what_a_killed_process_leaves_is_swept_and_nothing_else(
    url: str, administrator: Callable[[str], Any], wait_until: Callable[..., None]
) -> None:
    path = str(Path(sys.modules["envhub_db"].__file__ or "").parents[1])
    script = LEAVER.format(path=path, url=url)
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "open\n"
        engine = ServerEngine(url)
        assert (
            engine.sweep() == [] and len(left(administrator)) == 9
        )  # it lives: another hub's are not touched
        mine = engine.open([RACES])
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        swept: list[str] = []
        wait_until(lambda: swept.extend(engine.sweep()) or len(swept) == 3)
        wait_until(lambda: len(left(administrator)) == 3)
        assert mine.tables() == ["50% races"]
        engine.close()
    wait_until(lambda: left(administrator) == [])


def test_who_has_lost_its_connection_keeps_its_databases(
    url: str, administrator: Callable[[str], Any], wait_until: Callable[..., None]
) -> None:
    one, other = ServerEngine(url), ServerEngine(url)
    database = one.open([RACES])
    administrator(f"KILL {one._keeper._connection.thread_id()}")
    assert other.sweep() == []  # its user is connected still
    another = one.open([RACES])  # on a new connection
    assert database.tables() == another.tables() == ["50% races"]
    one.close()
    other.close()
    wait_until(lambda: left(administrator) == [])


def test_a_database_that_can_not_be_opened_is_not_left(
    server: ServerEngine, administrator: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import pymysql

    server.open([RACES], "dbbench").close()
    connect = pymysql.connect

    def full(**settings: Any) -> Any:
        if settings["user"] != "root":
            raise pymysql.OperationalError(1040, "Too many connections")
        return connect(**settings)

    before = administrator("SHOW DATABASES")
    monkeypatch.setattr(pymysql, "connect", full)
    with pytest.raises(ServerUnavailable, match="Raise its max_connections"):
        server.open([RACES], "dbbench")
    monkeypatch.undo()
    assert administrator("SHOW DATABASES") == before
    assert not server.busy


def test_an_episode_whose_server_was_restarted_is_no_score(
    url: str, administrator: Callable[[str], Any]
) -> None:
    env = DBEnv(url=url)
    try:
        env.reset(options={"task": {"id": "books-0-update"}})
        for identifier, user in administrator("SELECT ID, USER FROM information_schema.PROCESSLIST"):
            if user.startswith("envhub"):
                administrator(f"KILL {identifier}")
        with pytest.raises(JudgementFailed, match="Lost connection"):
            env.step('Action: Answer\nFinal Answer: ["done"]')
    finally:
        env.close()


def test_a_server_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    address = f"mysql://root:secret@localhost/?unix_socket={tmp_path}/none"
    with pytest.raises(ServerUnavailable, match=r"root@.*none can't be used") as failed:
        ServerEngine(address)
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("mysql://root@localhost/", "root@localhost:3306"),
        ("mariadb://u%40x:p%2Fw@db.example:3307", "u@x@db.example:3307"),
        ("mysql://root@localhost/?unix_socket=/run/x.sock", "root@/run/x.sock"),
    ],
)
def test_addresses_are_read(url: str, shown: str) -> None:
    assert repr(Address.parse(url)) == shown


def test_without_the_driver_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(InvalidOptions, match="url needs PyMySQL: pip install"):
        Address.parse("mysql://root@localhost/").connect()

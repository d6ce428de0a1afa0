"""Puts the DB spec's folder on the path, as a worker does, and starts a MariaDB where there is one."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "env_specs" / "db"))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import db_server
from envhub_db import DBEnv
from envhub_db.engine import EmbeddedEngine, Engine
from envhub_db.library import Library
from envhub_db.server import ServerEngine


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of a MariaDB, started for the tests."""
    if db_server.missing():
        pytest.skip(db_server.missing())
    with db_server.server() as socket:
        yield f"mysql://root@localhost/?unix_socket={socket}"


@pytest.fixture(params=["embedded", "server"])
def where(request: pytest.FixtureRequest) -> str:
    """What the setting `url` is, for each engine."""
    return str(request.getfixturevalue("url")) if request.param == "server" else ""


@pytest.fixture
def engine(where: str) -> Iterator[Engine]:
    """Each engine."""
    made: EmbeddedEngine | ServerEngine = ServerEngine(where) if where else EmbeddedEngine()
    yield made
    made.close()


@pytest.fixture(scope="session")
def dbbench(shared_data: Path) -> Path:
    """The folder of DBBench's data, in which there is dev.jsonl."""
    return shared_data / "agentbench" / "data" / "dbbench"


@pytest.fixture(scope="session")
def library() -> Library:
    """The embedded tasks."""
    return DBEnv.load_shared({"data_dir": "", "levels": [], "train_variants": 2, "scoring": "fc", "url": ""})


@pytest.fixture
def make_env() -> Iterator[Callable[..., DBEnv]]:
    """Makes environments that are closed in the end."""
    made: list[DBEnv] = []

    def make(**settings: object) -> DBEnv:
        made.append(DBEnv(**settings))
        return made[-1]

    yield make
    for env in made:
        env.close()

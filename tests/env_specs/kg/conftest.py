"""Puts the KG spec's folder on the path, as a worker does, makes graphs and a SPARQL server."""

import json
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "env_specs" / "kg"))

from envhub_kg import KGEnv, freebase
from envhub_kg.ontology import Ontology
from envhub_kg.source import Source

from envhub.spec import load

from . import witness

SPEC = Path(__file__).resolve().parents[3] / "env_specs" / "kg"
FILMS = """
@prefix : <http://example.org/films/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:ozu a :Person ; rdfs:label "Yasujiro Ozu" .
:kurosawa a :Person ; rdfs:label "Akira Kurosawa" .
:tokyo_story a :Film ; rdfs:label "Tokyo Story"@en, "Die Reise nach Tokio"@de ;
    :directed_by :ozu ; :year 1953 .
:late_spring a :Film ; rdfs:label "Late Spring" ; :directed_by :ozu ; :year 1949 .
:ikiru a :Film ; rdfs:label "Ikiru" ; :directed_by :kurosawa ; :year 1952 .
"""
QUESTIONS = [
    {
        "id": "last",
        "question": "Which was the last film by Ozu (Yasujiro, the director)?",
        "entities": {"Ozu (Yasujiro, the director)": "ozu"},
        "answer": ["http://example.org/films/tokyo_story"],
        "actions": [
            "get_relations(ozu)",
            "get_neighbors(ozu,^directed_by)",
            "get_attributes(#0)",
            "argmax(#0,year)",
        ],
        "level": 2,
    },
    {
        "id": "count",
        "question": "How many films did Ozu make?",
        "entities": {"Ozu": "ozu"},
        "answer": [2],
        "actions": ["get_relations(ozu)", "get_neighbors(ozu,^directed_by)", "count(#0)"],
        "level": 1,
    },
]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where graphs are loaded to, instead of the developer's own cache."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph, films.ttl, and questions about it, questions.json."""
    folder = tmp_path_factory.mktemp("films")
    (folder / "films.ttl").write_text(FILMS, encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps(QUESTIONS), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def agentbench(shared_data: Path) -> Path:
    """The parts of AgentBench's repository that are at hand."""
    return shared_data / "agentbench"


@pytest.fixture(scope="session")
def freebase_ontology(agentbench: Path) -> Ontology:
    """Freebase's ontology."""
    return freebase.load(agentbench / "ontology")


@pytest.fixture(scope="session")
def dev(agentbench: Path, freebase_ontology: Ontology, tmp_path_factory: pytest.TempPathFactory) -> Source:
    """AgentBench's dev questions over a graph in which their actions lead somewhere."""
    questions = agentbench / "data" / "knowledgegraph"
    graph = tmp_path_factory.mktemp("dev") / "witness.nt"
    with graph.open("w", encoding="utf-8") as file:
        for number, entry in enumerate(json.loads((questions / "dev.json").read_text(encoding="utf-8"))):
            file.writelines(witness.triples(entry, number, freebase_ontology))
    return loaded(store=graph, data_dir=questions, ontology_dir=agentbench / "ontology")


def loaded(**settings: object) -> Source:
    """Load what settings ask for, as a worker does."""
    given = {key: str(value) if isinstance(value, Path) else value for key, value in settings.items()}
    return KGEnv.load_shared(load(SPEC).resolve(given).config)


class Server:
    """A SPARQL server: the program `oxigraph`, with the films.

    Args:
        folder: Where it keeps its data.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._at = f"127.0.0.1:{free.getsockname()[1]}"
        self.url = f"http://{self._at}/query"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it may take a moment before it answers."""
        command = [_oxigraph(), "serve", "--location", str(self._folder), "--bind", self._at]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def fill(self, wait_until: Callable[..., None]) -> None:
        """Wait until it answers, and give it the films."""
        put = urllib.request.Request(
            f"http://{self._at}/store?default",
            FILMS.encode(),
            {"Content-Type": "text/turtle"},
            method="PUT",
        )

        def taken() -> bool:
            try:
                with urllib.request.urlopen(put, timeout=20):
                    return True
            except OSError:
                return False

        wait_until(taken)

    def kill(self) -> None:
        """End it with SIGKILL, in the middle of whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _oxigraph() -> str:
    return shutil.which("oxigraph") or str(Path(sys.executable).with_name("oxigraph"))


@pytest.fixture
def server(tmp_path: Path, wait_until: Callable[..., None]) -> Iterator[Server]:
    """A SPARQL server that is running and has the films."""
    if not Path(_oxigraph()).is_file():
        pytest.skip("the program oxigraph is not installed (pip install oxigraph)")
    started = Server(tmp_path / "server")
    started.start()
    try:
        started.fill(wait_until)
        yield started
    finally:
        started.kill()

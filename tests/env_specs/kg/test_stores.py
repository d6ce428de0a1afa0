"""Graphs from files, and what is found out about one that comes without an ontology."""

import gzip
import io
import subprocess
import sys
from pathlib import Path

import pyoxigraph
import pytest
from envhub_kg import KGEnv, derive
from envhub_kg.errors import DataError
from envhub_kg.ontology import Relation
from envhub_kg.store import QueryRefused, StoreError, files
from envhub_kg.store.files import folder_of
from envhub_kg.store.local import LocalStore, in_memory
from envhub_kg.store.slots import Slots

from .conftest import FILMS, SPEC, loaded


def test_files_are_loaded_once_by_what_is_in_them(tmp_path: Path, cache: Path) -> None:
    file = tmp_path / "a.ttl"
    file.write_text(FILMS, encoding="utf-8")
    stages: list[tuple[str, int, int]] = []
    folder, digest = folder_of(file, lambda *told: stages.append(told))
    size = file.stat().st_size
    assert ("Reading", size, size) in stages
    assert ("Loading", size, size) in stages
    written = (folder / "CURRENT").stat().st_mtime_ns
    assert folder_of(file) == (folder, digest) and (folder / "CURRENT").stat().st_mtime_ns == written
    assert folder.is_relative_to(cache)
    file.write_text(FILMS + ":ran a :Film .", encoding="utf-8")
    other, changed = folder_of(file)
    assert other != folder and changed != digest


def test_a_blank_node_is_one_throughout_a_file_and_no_answer(tmp_path: Path) -> None:
    file = tmp_path / "a.nt"
    file.write_text("<http://a/a> <http://a/p> _:x .\n_:x <http://a/q> <http://a/b> .\n", encoding="utf-8")
    store = LocalStore(folder_of(file)[0])
    assert len(store.select("SELECT ?o WHERE { ?s <http://a/p>/<http://a/q> ?o }")) == 1
    assert store.select("SELECT ?o WHERE { ?s <http://a/p> ?o }") == []
    store.close()


def test_a_folder_of_files_compressed_or_not_is_one_graph(tmp_path: Path, films: Path) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    (folder / "films.ttl.gz").write_bytes(gzip.compress(FILMS.encode()))
    (folder / "more.nt").write_text(
        "<http://example.org/films/ran> <http://example.org/films/directed_by> "
        "<http://example.org/films/kurosawa> .\n",
        encoding="utf-8",
    )
    (folder / "README.md").write_text("no graph", encoding="utf-8")
    source = loaded(store=folder, data_dir=films / "questions.json")
    rows = source.store.select("SELECT ?f WHERE { ?f <http://example.org/films/directed_by> ?d }")
    assert len(rows) == 4
    source.store.close()


def test_a_folder_of_oxigraphs_own_is_opened_where_it_lies(tmp_path: Path, films: Path) -> None:
    database = tmp_path / "database"
    store = pyoxigraph.Store(str(database))
    store.bulk_load(FILMS.encode(), pyoxigraph.RdfFormat.TURTLE)
    store.flush()
    del store
    assert folder_of(database)[0] == database
    env = KGEnv(shared=loaded(store=database, data_dir=films / "questions.json"), expert=True)
    _, info = env.reset(options={"task": {"id": "last"}})
    terminated = False
    while not terminated:
        _, reward, terminated, _, info = env.step(info["expert_action"])
    assert reward == 1.0


def test_a_database_that_was_changed_is_no_longer_the_same_graph(tmp_path: Path) -> None:
    database = tmp_path / "database"
    pyoxigraph.Store(str(database)).flush()
    store = LocalStore(*folder_of(database))
    assert store.select("SELECT ?s WHERE { ?s ?p ?o }") == []
    (database / "more.sst").touch()
    assert store.select("SELECT ?s WHERE { ?s ?p ?o }") == []  # what is open stays as it was
    store.close()
    with pytest.raises(StoreError, match="was changed: start the hub anew"):
        store.select("SELECT ?s WHERE { ?s ?p ?o }")


def test_a_file_that_is_broken_is_named_and_leaves_nothing_behind(tmp_path: Path, cache: Path) -> None:
    broken = tmp_path / "broken.ttl"
    broken.write_text("this is no Turtle", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(DataError, match=r"broken\.ttl can't be loaded"):
            folder_of(broken)
    (tmp_path / "broken.nt.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match=r"broken\.nt\.gz"):
        folder_of(tmp_path / "broken.nt.gz")
    with pytest.raises(DataError, match=r"broken\.ttl can't be loaded"):
        loaded(store=broken, data_dir=broken)
    broken.write_text(f'<a:a> <a:b> "{"x" * (17 << 20)}" .', encoding="utf-8")  # more than a value may have
    with pytest.raises(DataError, match=r"broken\.ttl can't be loaded"):
        folder_of(broken)


WORKERS = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from envhub_kg.store.local import LocalStore
from envhub_kg.store.reading import read

folder, _, ontology = read(Path(sys.argv[2]), "")
assert "year" in ontology.attributes
store = LocalStore(folder)
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        found = store.select("SELECT ?f WHERE { ?f a <http://example.org/films/Film> }")
        os._exit(len(found))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
"""


def test_a_process_that_has_read_a_graph_can_be_forked_and_each_fork_opens_it(films: Path) -> None:
    command = [sys.executable, "-c", WORKERS, str(SPEC), str(films / "films.ttl")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_store_that_was_closed_is_opened_again(films: Path) -> None:
    store = loaded(store=films / "films.ttl", data_dir=films / "questions.json").store
    for _ in range(2):
        assert len(store.select("SELECT ?f WHERE { ?f a <http://example.org/films/Film> }")) == 3
        store.close()
    with pytest.raises(QueryRefused, match="does not take the query"):
        store.select("SELECT")
    store.close()


def test_a_long_load_shows_a_bar_on_a_terminal_and_lines_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for out, end in ((Terminal(), "\r"), (io.StringIO(), "\n")):
        now = iter((0.0, 1.0, 3.0, 3.05, 9.0))
        monkeypatch.setattr(files.time, "monotonic", lambda now=now: next(now))
        bar = files.Bar(out)
        for done in (0, 1 << 20, 2 << 20, 4 << 20):
            bar("Loading", done, 4 << 20)
        first, second = out.getvalue().split(end)[:2]
        assert first == f"Loading the graph [{'#' * 7}{'.' * 23}] 1 of 4 MB"
        assert second == f"Loading the graph [{'#' * 30}] 4 of 4 MB"


def test_the_ontology_is_found_out_from_the_graph() -> None:
    text = """
        @prefix : <http://a.org/x#> . @prefix o: <http://other.org/> .
        @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :p rdfs:domain :Given ; rdfs:range :Said .
        :a a :A ; :p :b ; :q :b, :c, :d ; o:r :b .
        :a :n 3 ; :when "1999-01-01"^^xsd:date ; :text "no attribute" .
        :b a :B . :c a :B . :d a :C .
    """
    store = pyoxigraph.Store()
    store.bulk_load(text.encode(), pyoxigraph.RdfFormat.TURTLE)
    found = derive.ontology(LocalStore(store))
    assert found.namespace == "http://a.org/x#"
    assert found.relations == {
        "p": Relation("Given", "Said"),
        "q": Relation("A", "B"),
        "<http://other.org/r>": Relation("A", "B"),
        "^p": Relation("Said", "Given"),
        "^q": Relation("B", "A"),
        "^<http://other.org/r>": Relation("B", "A"),
    }
    assert set(found.attributes) == {"n", "when"}
    named = derive.ontology(LocalStore(store), "http://other.org/")
    assert "r" in named.relations and "<http://a.org/x#p>" in named.relations
    assert derive.ontology(LocalStore(in_memory(b""))).relations == {}


def test_a_relation_outside_of_the_namespace_can_be_followed(tmp_path: Path) -> None:
    (tmp_path / "g.ttl").write_text(
        "<http://a.org/a> <http://b.org/(odd),one> <http://a.org/b> .", encoding="utf-8"
    )
    (tmp_path / "q.json").write_text(
        '[{"question": "?", "entities": {"A": "http://a.org/a"}, "answer": ["http://a.org/b"]}]',
        encoding="utf-8",
    )
    env = KGEnv(
        shared=loaded(store=tmp_path / "g.ttl", data_dir=tmp_path / "q.json", namespace="http://a.org/")
    )
    env.reset()
    assert env.step("get_relations(A)")[0] == "Observation: [<http://b.org/(odd),one>]"
    made = env.step("Action: get_neighbors(A, <http://b.org/(odd),one>)")[0]
    assert made == "Observation: variable #0, which are instances of thing"
    assert env.step("Final Answer: #0")[1] == 1.0


HOLDER = """
import sys
sys.path.insert(0, sys.argv[1])
from envhub_kg.store.slots import Slots
import os, signal

slots = Slots(2)
def child():
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        with slots.one():
            os.write(writer, b"x")
            signal.pause()
    os.read(reader, 1)  # it holds a place
    return pid
first, second = child(), child()
third = os.fork()
if third == 0:
    with slots.one():
        os._exit(7)
assert os.waitpid(third, os.WNOHANG) == (0, 0)
os.kill(first, signal.SIGKILL)
os.waitpid(first, 0)
os.kill(second, signal.SIGKILL)
os.waitpid(second, 0)
assert os.waitstatus_to_exitcode(os.waitpid(third, 0)[1]) == 7
"""


def test_places_are_held_over_processes_and_come_back_from_those_that_are_killed() -> None:
    spec = Path(__file__).resolve().parents[3] / "env_specs" / "kg"
    done = subprocess.run(
        [sys.executable, "-c", HOLDER, str(spec)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    slots = Slots(1)
    for _ in range(3):
        with slots.one():
            pass

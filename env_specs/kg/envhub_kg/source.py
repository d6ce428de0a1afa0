"""Which graph and which questions: what the settings ask for, loaded once for all replicas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envhub_kg import derive, freebase, official
from envhub_kg.errors import DataError, InvalidOptions
from envhub_kg.library import Library
from envhub_kg.ontology import Ontology
from envhub_kg.sparql import DIALECTS
from envhub_kg.store import Store
from envhub_kg.store.endpoint import Endpoint
from envhub_kg.task import Task

LEVELS = (1, 2, 3)


@dataclass(frozen=True)
class Source:
    """A graph, and the questions about it.

    Attributes:
        store: The graph.
        ontology: What is in it.
        dialect: What the store speaks, of `sparql.DIALECTS`.
        library: The questions.
        name: What the data are called.
        digest: Of graph and questions; of an endpoint's graph only the address goes into it.
        note: What there is, in one line.
    """

    store: Store
    ontology: Ontology
    dialect: str
    library: Library
    name: str
    digest: str
    note: str


def load(config: Mapping[str, Any]) -> Source:
    """Load what the settings ask for.

    Raises:
        DataError: Files are missing or wrong, or an endpoint does not answer.
        InvalidOptions: Settings can't be used, or not together.
    """
    _check(config)
    if config["store"]:
        return _from_files(config)
    if config["endpoint"]:
        return _from_endpoint(config)
    return _embedded(config)


def _check(config: Mapping[str, Any]) -> None:
    if config["dialect"] not in DIALECTS:
        raise InvalidOptions(f"dialect must be one of {', '.join(DIALECTS)}, not {config['dialect']!r}")
    if config["store"] and config["endpoint"]:
        raise InvalidOptions("the graph is in a store or at an endpoint: set one of the two")
    if not set(config["levels"]) <= set(LEVELS):
        raise InvalidOptions(f"levels are of {', '.join(map(str, LEVELS))}, not {config['levels']}")
    for name, least in (("endpoint_retries", 0), ("endpoint_concurrency", 1), ("train_variants", 0)):
        if config[name] < least:
            raise InvalidOptions(f"{name} must be at least {least}, not {config[name]}")
    if config["endpoint_timeout_s"] <= 0:
        raise InvalidOptions(f"endpoint_timeout_s must be more than 0, not {config['endpoint_timeout_s']}")
    if config["store"] or config["endpoint"]:
        if not config["data_dir"]:
            raise InvalidOptions(
                "there are no questions about this graph: set data_dir to a JSON file of questions, "
                "entities and answers, or to a folder with some (docs/environments/kg.md says what they have)"
            )
    elif config["ontology_dir"] or config["namespace"]:
        raise InvalidOptions("ontology_dir and namespace are about a graph of yours: set store or endpoint")


def _embedded(config: Mapping[str, Any]) -> Source:
    from envhub_kg import graph, own
    from envhub_kg.store.local import LocalStore, in_memory

    ontology = graph.ontology()
    triples = graph.triples()
    store = LocalStore(in_memory(triples))
    if config["data_dir"]:
        tasks = _questions(config, ontology)
        if not any(_known(store, ontology, ident) for task in tasks for ident in task.entities.values()):
            raise InvalidOptions(
                f"the embedded graph has nothing that the questions of {config['data_dir']} are about: set "
                "endpoint or store to their graph (AgentBench's: Freebase, and ontology_dir to its ontology)"
            )
    else:
        made, levels = own.tasks(triples, ontology, config["train_variants"]), config["levels"]
        tasks = [task for task in made if not levels or task.level in levels]
    return _source(config, store, ontology, tasks, graph.NAME, graph.digest())


def _known(store: Store, ontology: Ontology, name: str) -> bool:
    if not ontology.names(name):
        return False
    return bool(store.select(f"SELECT ?p WHERE {{ <{ontology.iri(name)}> ?p ?o }} LIMIT 1"))


def _from_files(config: Mapping[str, Any]) -> Source:
    from envhub_kg.store.local import LocalStore
    from envhub_kg.store.reading import read

    path = Path(config["store"]).expanduser()
    folder, digest, ontology = read(path, None if config["ontology_dir"] else config["namespace"])
    ontology = ontology or _freebase(config)
    tasks = _questions(config, ontology)
    store = LocalStore(folder, digest if folder == path else "")
    return _source(config, store, ontology, tasks, path.name, digest)


def _from_endpoint(config: Mapping[str, Any]) -> Source:
    store = Endpoint(
        config["endpoint"],
        timeout_s=config["endpoint_timeout_s"],
        retries=config["endpoint_retries"],
        concurrency=config["endpoint_concurrency"],
    )
    try:
        if not store.select("SELECT ?p WHERE { ?s ?p ?o } LIMIT 1"):
            raise DataError(f"the graph at {store} is empty: load it first")
        ontology = (
            _freebase(config) if config["ontology_dir"] else derive.ontology(store, config["namespace"])
        )
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"the graph can't be asked: {error}") from None
    finally:
        store.close()
    return _source(config, store, ontology, _questions(config, ontology), str(store), str(store))


def _freebase(config: Mapping[str, Any]) -> Ontology:
    return freebase.load(Path(config["ontology_dir"]).expanduser())


def _questions(config: Mapping[str, Any], ontology: Ontology) -> list[Task]:
    tasks = official.load(Path(config["data_dir"]).expanduser(), ontology.name)
    levels = config["levels"]
    return [task for task in tasks if not levels or task.level in levels]


def _source(
    config: Mapping[str, Any], store: Store, ontology: Ontology, tasks: list[Task], name: str, digest: str
) -> Source:
    library = Library(tasks)
    if not ontology.relations:
        raise InvalidOptions(
            f"{name} has nothing that leads from one entity to another: is it the right graph?"
        )
    if not len(library):
        raise InvalidOptions(f"no question is of the levels {config['levels']}")
    return Source(
        store=store,
        ontology=ontology,
        dialect=config["dialect"],
        library=library,
        name=name,
        digest=library.with_graph(digest),
        note=(
            f"{name}: {len(ontology.relations):,} relations, {len(ontology.attributes):,} attributes; "
            f"{len(library):,} questions"
        ),
    )

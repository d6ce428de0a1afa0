"""Reading files and ontology of a graph on disk, in a process of its own.

A database on disk starts threads, and a process that has started some is not to be forked, as templates are.
So the template leaves the reading to another process, and each worker opens the database for itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from envhub_kg import derive
from envhub_kg.errors import DataError
from envhub_kg.ontology import Ontology
from envhub_kg.store.base import StoreError
from envhub_kg.store.files import Bar, folder_of
from envhub_kg.store.local import LocalStore

_SPEC = Path(__file__).resolve().parents[2]
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from envhub_kg.store import reading; reading.main()"


def read(path: Path, namespace: str | None) -> tuple[Path, str, Ontology | None]:
    """Load a graph from its files, unless that was done before, and find out what is in it.

    Args:
        path: See `files.folder_of`.
        namespace: See `derive.ontology`; None: the ontology is known already.

    Returns:
        The database's folder, the digest of what is in it, and its ontology.

    Raises:
        DataError: A file is missing or wrong, or the graph can't be read.
    """
    order = json.dumps({"path": str(path), "namespace": namespace})
    # What it tells of its progress is log, as what this process prints.
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(_SPEC), order], stdout=subprocess.PIPE, check=False
    )
    try:
        told = json.loads(done.stdout)
    except ValueError:
        raise DataError(f"the store {path} can't be read: the process died ({done.returncode})") from None
    if "error" in told:
        raise DataError(told["error"])
    ontology = Ontology.from_json(told["ontology"]) if told["ontology"] else None
    return Path(told["folder"]), told["digest"], ontology


def main() -> None:
    """Do what the last argument orders, and print what was found, as JSON."""
    order = json.loads(sys.argv[-1])
    print(json.dumps(_told(Path(order["path"]), order["namespace"])))


def _told(path: Path, namespace: str | None) -> dict[str, Any]:
    try:
        folder, digest = folder_of(path, Bar(sys.stderr))
        ontology = None if namespace is None else derive.ontology(LocalStore(folder), namespace)
    except (DataError, StoreError, OSError) as error:
        said = str(error) if isinstance(error, DataError) else f"the store {path} can't be read: {error}"
        return {"error": said}
    return {"folder": str(folder), "digest": digest, "ontology": ontology and ontology.to_json()}

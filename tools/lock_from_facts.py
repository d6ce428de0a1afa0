"""Lock the bundled specs from a file of facts about conda packages, where no conda channel can be reached.

    python tools/lock_from_facts.py FACTS.json

The facts are names, versions, builds, addresses, hashes and dependencies of packages, read from lock files
that others published. They become a channel that has an index and no archives: it says, by `base_url`
(CEP-15), that the archives lie on conda-forge. `envhub lock` with that channel as a mirror does the rest, so
what writes the lock is conda-lock, unchanged. Whoever reaches conda-forge runs `envhub lock --all` instead.

It is in `tools/` because it is for those who work on the repository and uses the hub: what is in `env_specs`
is installed with the hub, and nothing there imports it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from envhub.build import Mirrors, SpecFiles, check_fresh, lock_conda, own_solver, read_inputs, relock
from envhub.spec import Spec, bundled

CONDA_FORGE = "https://conda.anaconda.org/conda-forge"


def facts_channel(packages: list[dict[str, Any]], folder: Path) -> Path:
    """Write the index of a channel that has exactly these packages, and return its folder."""
    records: dict[str, dict[str, Any]] = defaultdict(dict, {"linux-64": {}, "noarch": {}})
    for package in packages:
        base_url, subdir, file = package["url"].rsplit("/", 2)
        assert base_url == CONDA_FORGE, f"{package['url']} is not on conda-forge"
        record = {key: package[key] for key in ("name", "version", "build", "md5", "sha256")}
        listed = [f"{name} {version}".strip() for name, version in package["dependencies"].items()]
        record["depends"] = package.get("depends_full", listed)
        record["constrains"] = package.get("constrains", [])
        record |= {"subdir": subdir, "build_number": 0}  # read from the index alone, and it has one of each
        records[subdir][file] = record
    for subdir, found in records.items():
        (folder / subdir).mkdir(parents=True)
        info = {"subdir": subdir, "base_url": f"{CONDA_FORGE}/{subdir}"}
        index = {"info": info, "repodata_version": 2, "packages": {}, "packages.conda": found}
        (folder / subdir / "repodata.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


def mirrors_of(facts: Path, source: str, folder: Path) -> Mirrors:
    """Write the channel of one of the sources in a file of facts, as a mirror of conda-forge."""
    sets = {one["repo"]: one["packages"] for one in json.loads(facts.read_text("utf-8"))["sets"]}
    return Mirrors({CONDA_FORGE: facts_channel(sets[source], folder / "conda-forge").as_uri()})


def locked(spec: Spec, mirrors: Mirrors) -> list[str]:
    """Lock a spec and return the names of the files that changed.

    Where the conda part comes out as it was and the locks are fresh, the PyPI part is left alone: the package
    index may have newer versions by now.
    """
    conda_lock = lock_conda(spec, read_inputs(spec), own_solver(mirrors))
    file = SpecFiles.of(spec).conda_lock
    if file.is_file() and file.read_text("utf-8") == conda_lock and check_fresh(spec).fresh:
        return []
    return [changed.name for changed in relock(spec, mirrors=mirrors).changed]


SOURCE = "EverlastEngineering/larsnet-midi"
"""Whose published lock the packages are from: of those at hand, the one with the newest Python 3.11."""


def main() -> None:
    """Lock every bundled spec that has an `environment.yml`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("facts", type=Path, help="a JSON file with `sets` of packages")
    parser.add_argument("--source", default=SOURCE, help="the `repo` of the set to use (%(default)s)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mirrors = mirrors_of(asked.facts, asked.source, Path(folder))
        for spec in bundled():
            if SpecFiles.of(spec).environment.is_file():
                print(f"{spec.name}: {', '.join(locked(spec, mirrors)) or 'nothing has changed'}")


if __name__ == "__main__":
    main()

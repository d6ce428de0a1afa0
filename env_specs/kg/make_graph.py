"""Make the embedded graph from the data of packages.

    pip install -r graph_maker/requirements.txt    # once; Python 3.11 or later
    python make_graph.py                           # write envhub_kg/graph/graph.nt.xz
    python make_graph.py --check                   # verify that it holds exactly what this program makes

PROVENANCE.md says where every fact comes from.
"""

from __future__ import annotations

import argparse
import lzma
import sys
from collections.abc import Sequence
from pathlib import Path

from envhub_kg.graph import declared
from graph_maker.chemistry import add_elements
from graph_maker.countries import add_countries, add_us_states
from graph_maker.culture import add_currencies, add_languages
from graph_maker.facts import Facts
from graph_maker.places import Places
from graph_maker.sky import add_sky

FILE = Path(__file__).resolve().parent / "envhub_kg" / "graph" / "graph.nt.xz"


def make() -> bytes:
    """Return the graph as N-Triples."""
    facts = Facts(declared.read())
    countries = add_countries(facts)
    places = Places(facts, countries, add_us_states(facts, countries["US"]))
    places.add_time_zones()
    places.add_cities()
    places.add_airports()
    add_languages(facts, countries)
    add_currencies(facts, countries)
    add_elements(facts, countries)
    add_sky(facts)
    return "".join(f"{line}\n" for line in facts.lines()).encode()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Make the embedded graph from the data of packages.")
    parser.add_argument("--check", action="store_true", help="write nothing; tell whether it is as made")
    options = parser.parse_args(arguments)
    made = make()
    if options.check:
        same = FILE.exists() and lzma.decompress(FILE.read_bytes()) == made
        print("as made" if same else "not as made: run make_graph.py")
        return 0 if same else 1
    FILE.write_bytes(lzma.compress(made, preset=9 | lzma.PRESET_EXTREME))
    print(f"{made.count(10)} triples, {FILE.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

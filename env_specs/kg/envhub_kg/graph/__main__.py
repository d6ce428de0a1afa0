"""Tell what is in the embedded graph, as docs/environments/kg.md has it: `python -m envhub_kg.graph`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from envhub_kg import graph
from envhub_kg.graph.declared import NAMESPACE, TYPE, Declared, read
from envhub_kg.ontology import Relation


def table() -> str:
    """Return the classes with their numbers of entities, relations and values, as Markdown."""
    classes: Counter[str] = Counter()
    facts: Counter[str] = Counter()
    for line in graph.triples().decode().splitlines():
        _, predicate, object_ = line[:-2].split(" ", 2)
        facts[predicate[1:-1]] += 1
        if predicate[1:-1] == NAMESPACE + TYPE:
            classes[object_[len(NAMESPACE) + 1 : -1]] += 1
    declared = read()
    lines = ["| class | entities | relations | attributes |", "| --- | --- | --- | --- |"]
    for name, entities in sorted(classes.items()):
        cells = (_cell(names, name, facts) for names in (declared.relations, declared.attributes))
        lines.append(f"| {name} | {entities:,} | {' | '.join(cells)} |")
    lines.append("")
    lines.append(_sum(declared, classes, facts))
    return "\n".join(lines)


def _cell(declared: Mapping[str, Relation], class_: str, facts: Counter[str]) -> str:
    names = sorted(name for name, relation in declared.items() if relation.domain == class_)
    return ", ".join(f"{_short(name, class_)} {facts[NAMESPACE + name]:,}" for name in names)


def _short(name: str, class_: str) -> str:
    return name[len(class_) + 1 :] if name.startswith(f"{class_}.") else name


def _sum(declared: Declared, classes: Counter[str], facts: Counter[str]) -> str:
    return (
        f"{sum(facts.values()):,} triples: {sum(classes.values()):,} entities of {len(classes)} classes, "
        f"each with its name and class; {len(declared.relations)} relations, "
        f"{len(declared.attributes)} attributes."
    )


if __name__ == "__main__":
    print(table())

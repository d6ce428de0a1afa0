"""Freebase's ontology, from the files that AgentBench has of it.

vocab.json           {"relations": […], "attributes": […], "classes": […]}: the names that tools may show
fb_roles             domain, name and range of each
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from envhub_kg.errors import DataError
from envhub_kg.ontology import FREEBASE, Ontology, Relation

_LABEL = FREEBASE + "type.object.name"


def load(folder: Path) -> Ontology:
    """Read the folder `src/server/tasks/knowledgegraph/ontology` of AgentBench's repository.

    Raises:
        DataError: A file is missing, or is not what it should be.
    """
    vocab = _vocab(folder / "vocab.json")
    roles: dict[str, Relation] = {}
    for number, line in enumerate(_lines(folder / "fb_roles"), 1):
        fields = line.split(" ")
        if len(fields) < 3:
            raise DataError(f"{folder / 'fb_roles'}, line {number}: it must be domain, relation, range")
        roles[fields[1]] = Relation(fields[0], fields[2])
    return Ontology(
        namespace=FREEBASE,
        relations=_with_roles(vocab, "relations", roles),
        attributes=_with_roles(vocab, "attributes", roles),
        label=_LABEL,
    )


def _with_roles(vocab: dict[str, Any], kind: str, roles: dict[str, Relation]) -> dict[str, Relation]:
    """Return the vocabulary's names that have a role: of others nobody knows where they lead."""
    return {name: roles[name] for name in vocab[kind] if name in roles}


def _vocab(file: Path) -> dict[str, Any]:
    text = _text(file)
    try:
        vocab = json.loads(text)
    except ValueError as error:
        raise DataError(f"{file} is no JSON: {error}") from None
    for kind in ("relations", "attributes"):
        if not isinstance(vocab, dict) or not isinstance(vocab.get(kind), list):
            raise DataError(f"{file}: {kind} must be a list")
    return dict(vocab)


def _lines(file: Path) -> list[str]:
    return [line for line in _text(file).split("\n") if line]


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise DataError(
            f"{file} can't be read ({error}): ontology_dir must be the folder "
            "src/server/tasks/knowledgegraph/ontology of AgentBench's repository"
        ) from None

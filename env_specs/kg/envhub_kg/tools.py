"""The seven tools, and the variables that they make in an episode."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Union

from envhub_kg.engine import Engine
from envhub_kg.ontology import FREEBASE, BadName, Ontology
from envhub_kg.program import MAX_SIZE, Program, Subject, Variable, counts, from_json, size

PARAMETERS: dict[str, tuple[str, ...]] = {
    "get_relations": ("variable",),
    "get_neighbors": ("variable", "relation"),
    "intersection": ("variable1", "variable2"),
    "get_attributes": ("variable",),
    "argmax": ("variable", "attribute"),
    "argmin": ("variable", "attribute"),
    "count": ("variable",),
}
"""All tools there are, with their parameters in order."""

NUMBER = "type.int"
"""Type of a count."""

_PUBLISHED_ENTITY = re.compile(r"[mf]\.\w+")
_FREEBASE_ENTITY = re.compile(r"[mgf]\.\w+")

Argument = Union[Variable, str]


class ToolError(Exception):
    """A tool can't do what it was asked for.

    Args:
        reason: Why, for the agent.
        published: What AgentBench says instead, if that differs.
    """

    def __init__(self, reason: str, published: str = "") -> None:
        super().__init__(reason)
        self.published = published or reason


class TypesDiffer(ToolError):
    """An intersection of variables of different types."""


class Toolbox:
    """The tools in one episode.

    Args:
        engine: Answers about the graph.
        ontology: What is in it.
        entities: The question's entities, by the words it uses for them.
        faithful: Entities are Freebase's m.* and f.* alone, as published; variables are counted from the end,
            too.
        asks: Neighbors and extremes are found whether or not their relation or attribute was listed before.

    Attributes:
        variables: What has been made: number 0 is `#0`.
    """

    def __init__(
        self, engine: Engine, ontology: Ontology, entities: Mapping[str, str], faithful: bool, asks: bool
    ) -> None:
        self._engine = engine
        self._ontology = ontology
        self._entities = entities
        self._ids = frozenset(entities.values())
        self._faithful = faithful
        self._asks = asks
        self.variables: list[Variable] = []
        self._relations_of: dict[Subject, None] = {}  # whose relations were listed, in that order
        self._attributes_of: dict[Subject, None] = {}
        self._tools: dict[str, Callable[..., Variable | list[str]]] = {
            "get_relations": self._get_relations,
            "get_neighbors": self._get_neighbors,
            "intersection": self._intersection,
            "get_attributes": self._get_attributes,
            "argmax": lambda of, attribute: self._extreme("argmax", of, attribute),
            "argmin": lambda of, attribute: self._extreme("argmin", of, attribute),
            "count": self._count,
        }

    def call(self, name: str, arguments: Sequence[str]) -> str:
        """Use a tool.

        Args:
            name: One of `PARAMETERS`.
            arguments: In its parameters' order: `#n`, an entity as the question calls it or its id, a
                relation, an attribute.

        Returns:
            The observation.

        Raises:
            ToolError: It can't be done; nothing has changed.
            StoreError: The store could not answer.
        """
        wanted = PARAMETERS[name]
        if len(arguments) != len(wanted):
            raise ToolError(f"{name} takes {' and '.join(wanted)}")
        found = self._tools[name](*map(self._argument, arguments))
        if isinstance(found, list):
            return f"Observation: [{', '.join(found)}]"
        if size(found.program) > MAX_SIZE:
            raise ToolError(f"{name}: that takes more than {MAX_SIZE} operations to compute")
        self.variables.append(found)
        kind = "is a number" if found.type == NUMBER else f"are instances of {found.type}"
        return f"Observation: variable #{len(self.variables) - 1}, which {kind}"

    def variable(self, number: int) -> Variable | None:
        """Return the variable of that number, or None."""
        return self.variables[number] if number < len(self.variables) else None

    def get_state(self) -> dict[str, Any]:
        """Return what has been made and listed, as JSON."""
        return {
            "variables": [[variable.type, variable.program] for variable in self.variables],
            "relations_of": list(self._relations_of),
            "attributes_of": list(self._attributes_of),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""
        self.variables = [Variable(kind, _program(program)) for kind, program in state["variables"]]
        self._relations_of = dict.fromkeys(map(from_json, state["relations_of"]))
        self._attributes_of = dict.fromkeys(map(from_json, state["attributes_of"]))

    # -- arguments ----------------------------------------------------------------------------------

    def _argument(self, text: str) -> Argument:
        if not text.startswith("#"):
            return self._entities.get(text, text)
        digits = text[1:]
        if not digits.isdecimal() and not (self._faithful and re.fullmatch(r"-\d+", digits)):
            raise ToolError(
                f"{text!r:.200} is no variable: they are #0, #1, …",
                f"invalid literal for int() with base 10: {digits!r}",
            )
        try:
            return self.variables[int(digits)]
        except (IndexError, ValueError):
            raise ToolError(
                f"there is no variable {text:.200}: {self._known()}", "list index out of range"
            ) from None

    def _known(self) -> str:
        last = len(self.variables) - 1
        return f"the last one is #{last}" if last >= 0 else "there is none yet"

    def _subject(self, tool: str, argument: Argument) -> Subject:
        """Return the entity or the program that an argument stands for."""
        if isinstance(argument, Variable):
            if counts(argument.program):
                raise ToolError(f"{tool}: that variable is a number")
            return argument.program
        if not self._is_entity(argument):
            named = ", ".join(self._entities)
            raise ToolError(
                f"{tool}: {argument!r:.200} is neither a variable nor one of the entities [{named}]",
                f"{tool}: variable must be a variable or an entity",
            )
        return argument

    def _is_entity(self, name: str) -> bool:
        if self._faithful and self._ontology.namespace == FREEBASE:
            return _PUBLISHED_ENTITY.fullmatch(name) is not None
        if self._ontology.namespace == FREEBASE and _FREEBASE_ENTITY.fullmatch(name):
            return True
        return name in self._ids

    def _set(self, tool: str, argument: Argument, attribute: str = "program") -> Program:
        """Return the program of a variable that is no number."""
        if not isinstance(argument, Variable):
            raise ToolError(
                f"{tool}: {argument!r:.200} is no variable such as #0",
                f"'str' object has no attribute '{attribute}'",
            )
        if counts(argument.program):
            raise ToolError(f"{tool}: that variable is a number")
        return argument.program

    # -- tools --------------------------------------------------------------------------------------

    def _get_relations(self, of: Argument) -> list[str]:
        subject = self._subject("get_relations", of)
        found = self._listed(self._engine.relations, subject)
        self._relations_of[subject] = None
        return found

    def _get_neighbors(self, of: Argument, relation: Argument) -> Variable:
        subject = self._subject("get_neighbors", of)
        if subject not in self._relations_of and not self._asks:
            raise ToolError("get_neighbors: call get_relations for it first")
        if relation not in self._listed(self._engine.relations, subject):
            raise ToolError(
                f"get_neighbors: {_shown(relation)} is not among its relations",
                "get_neighbors: relation must be a relation of the variable",
            )
        self._relations_of[subject] = None
        return Variable(self._ontology.relations[str(relation)].range, ("JOIN", relation, subject))

    def _intersection(self, one: Argument, other: Argument) -> Variable:
        programs = self._set("intersection", one, "type"), self._set("intersection", other, "type")
        assert isinstance(one, Variable) and isinstance(other, Variable)
        if one.type != other.type:
            raise TypesDiffer(
                f"intersection: one are instances of {one.type}, the other of {other.type}",
                "intersection: two variables must have the same type",
            )
        return Variable(one.type, ("AND", *programs))

    def _get_attributes(self, of: Argument) -> list[str]:
        program = self._set("get_attributes", of)
        found = self._listed(self._engine.attributes, program)
        self._attributes_of[program] = None
        return found

    def _extreme(self, tool: str, of: Argument, attribute: Argument) -> Variable:
        program = self._set(tool, of)
        assert isinstance(of, Variable)
        if program not in self._attributes_of and not self._asks:
            raise ToolError(f"{tool}: call get_attributes for it first")
        if attribute not in self._listed(self._engine.attributes, program):
            raise ToolError(
                f"{tool}: {_shown(attribute)} is not among its attributes",
                f"{tool}: attribute must be an attribute of the variable",
            )
        self._attributes_of[program] = None
        return Variable(of.type, (tool.upper(), program, attribute))

    def _count(self, of: Argument) -> Variable:
        return Variable(NUMBER, ("COUNT", self._set("count", of)))

    def _listed(self, ask: Callable[[Subject], list[str]], subject: Subject) -> list[str]:
        try:
            return ask(subject)
        except BadName as error:
            raise ToolError(str(error)) from None


def _program(value: Any) -> Program:
    program = from_json(value)
    assert isinstance(program, tuple)
    return program


def _shown(argument: Argument) -> str:
    return f"{argument!r:.200}" if isinstance(argument, str) else "a variable"

"""Rules for CASE and IF, and the type that holds several values."""

from __future__ import annotations

from sqlglot import exp

from .comparisons import compared
from .compiling import (
    NOTHING,
    Compiler,
    Place,
    Typed,
    converted,
    rule,
    syntax,
    truth,
)
from .types import (
    Type,
    merged,
)


def together(values: list[Typed]) -> Type:
    """The type that holds any of these values."""
    kind = values[0].type
    for one in values[1:]:
        kind = merged(kind, one.type)
    return kind


@rule(exp.Case)
def case(c: Compiler, node: exp.Case, at: Place) -> Typed:
    """CASE, of conditions or of one value."""
    subject = c.expression(node.this, at) if node.this is not None else None
    tests: list[str] = []
    for branch in node.args["ifs"]:
        found = c.expression(branch.this, at)
        tests.append(truth(found) if subject is None else compared(subject, found, "="))
    results = [c.expression(branch.args["true"], at) for branch in node.args["ifs"]]
    default = node.args.get("default")
    results.append(c.expression(default, at) if default is not None else NOTHING)
    return chosen(tests, results)


def chosen(tests: list[str], results: list[Typed]) -> Typed:
    """The first result whose test holds, else the last, all in one type."""
    kind = together(results)
    parts = [f"WHEN {test} THEN {converted(one, kind)}" for test, one in zip(tests, results)]
    return Typed(f"(CASE {' '.join(parts)} ELSE {converted(results[-1], kind)} END)", kind)


@rule(exp.If)
def either(c: Compiler, node: exp.If, at: Place) -> Typed:
    """IF(test, then, else)."""
    if node.args.get("false") is None or node.args.get("true") is None:
        raise syntax(node)
    results = [c.expression(node.args[name], at) for name in ("true", "false")]
    return chosen([truth(c.expression(node.this, at))], results)

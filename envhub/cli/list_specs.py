"""`envhub list`: the specs that can be served by name."""

from __future__ import annotations

from envhub.cli._output import AsJson, errors, print_json, print_table
from envhub.spec import SpecError, available


def list_specs(as_json: AsJson = False) -> None:
    """List the specs that can be served by name.

    These are the bundled ones and those of installed plug-ins.
    """
    broken: list[SpecError] = []
    specs = available(broken.append)
    if as_json:
        print_json(
            [
                {"name": spec.name, "version": spec.version, "summary": spec.summary, "path": spec.path}
                for spec in specs
            ]
        )
    else:
        print_table(
            ("name", "version", "summary"), ((spec.name, spec.version, spec.summary) for spec in specs)
        )
    for error in broken:
        errors.print(f"left out: {error}", style="yellow", markup=False)

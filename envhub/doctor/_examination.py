"""Looking at everything, in the order in which it matters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envhub.build import BuildError, Store, read_inputs
from envhub.doctor._finding import Finding
from envhub.doctor._machine import look_at_interpreter, look_at_open_files, look_at_port, look_at_sandbox
from envhub.doctor._specs import look_at_spec
from envhub.doctor._tools import look_at_channels, look_at_solver, look_at_store, look_at_tools
from envhub.spec import Spec


def examine(
    specs: Sequence[Spec], store: Store, host: str, port: int, *, offline: bool = False, deep: bool = True
) -> Iterator[Finding]:
    """Look at the machine, the tools, the store and the specs; nothing is changed.

    Args:
        specs: The specs to look at.
        store: The store of built environments.
        host: Where a hub would listen.
        port: The port it would listen on.
        offline: Whether no channel is to be asked whether it answers.
        deep: Whether every file of what is built is to be hashed.

    Yields:
        One finding after the other, as soon as it is known.
    """
    yield look_at_interpreter()
    yield look_at_open_files()
    yield look_at_port(host, port)
    yield look_at_tools()
    yield from look_at_store(store)
    channels = _channels(specs)
    yield from look_at_solver(channels)
    if not offline:
        yield from look_at_channels(channels)
    for spec in specs:
        yield from look_at_spec(spec, store, deep=deep)
    yield from look_at_sandbox()


def _channels(specs: Sequence[Spec]) -> tuple[str, ...]:
    """The channels of the specs, each once; a spec whose inputs cannot be read is complained about later."""
    found: dict[str, None] = {}
    for spec in specs:
        try:
            found |= dict.fromkeys(read_inputs(spec).channels)
        except BuildError:
            continue
    return tuple(found)

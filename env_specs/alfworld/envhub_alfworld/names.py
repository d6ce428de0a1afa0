"""What things are called: ``mug 2`` for ``mug_bar__plus_01_dot_22_bar_...``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def names(symbols: Iterable[str]) -> dict[str, str]:
    """Name the things of a game, as ALFWorld's ``Demangler`` does.

    The name is what stands before the first ``_bar_``, with ``basin`` added where the symbol holds that word
    (``sink_bar_..._bar_sinkbasin`` is a ``sinkbasin``), and a number: things of one name, in the order of
    their symbols, are numbered from their count down to 1. Symbols without ``_bar_``, such as types, stay as
    they are.

    Args:
        symbols: The lower-cased PDDL symbols that occur in the facts of the initial state.

    Returns:
        The name of each symbol, in the order of the symbols.
    """
    ordered = sorted(set(symbols))
    kinds = {symbol: _kind(symbol) for symbol in ordered if "_bar_" in symbol}
    left = Counter(kinds.values())
    named = {}
    for symbol in ordered:
        kind = kinds.get(symbol)
        if kind is None:
            named[symbol] = symbol
        else:
            named[symbol] = f"{kind} {left[kind]}"
            left[kind] -= 1
    return named


def _kind(symbol: str) -> str:
    return symbol.partition("_bar_")[0] + ("basin" if "basin" in symbol else "")

"""Starts a launcher, or a first process: `python -I -S -X utf8 __main__.py launcher|first FD...`."""

import importlib
import os
import sys

if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [os.path.dirname(here), *(entry for entry in sys.path if os.path.abspath(entry) != here)]
    importlib.import_module(f"jail.{sys.argv[1]}").main(*map(int, sys.argv[2:]))

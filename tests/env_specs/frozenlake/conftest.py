"""Puts the FrozenLake spec's folder on the path, as a worker does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "env_specs" / "frozenlake"))

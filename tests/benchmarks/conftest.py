import sys
from pathlib import Path

# The benchmarks are scripts: their folder is on the path when one of them runs, and here.
sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

"""What README, quick start and the pages of environments show runs as it is pasted."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..hubs import serving

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/quickstart.md",
    "docs/environments/alfworld.md",
    "docs/environments/db.md",
    "docs/environments/kg.md",
)
FENCED = re.compile(r"^(```+)python\n(.*?)^\1$", re.DOTALL | re.MULTILINE)
SNIPPETS = [
    pytest.param(found[2], id=f"{page}-{number}")
    for page in PAGES
    for number, found in enumerate(FENCED.finditer((ROOT / page).read_text()))
]

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    envs = ("webshop=64", "alfworld=2", "db=2", "kg=2")
    with serving(*(word for env in envs for word in ("--env", env))) as where:
        yield where


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippet(snippet: str, url: str, tmp_path: Path) -> None:
    for command in re.findall(r"^# envhub (.*)$", snippet, re.MULTILINE):  # what has to be run before
        subprocess.run([sys.executable, "-m", "envhub", *shlex.split(command)], check=True, cwd=tmp_path)
    code = snippet.replace("http://127.0.0.1:8000", url).replace("Hub()", f'Hub("{url}")')
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    if "mean reward" in code:
        assert float(re.search(r"mean reward (\d\.\d+)", ran.stdout)[1]) > 0.4, ran.stdout

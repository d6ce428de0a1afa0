"""Making the locks of a spec: conda-lock for the conda part, uv for the PyPI part.

Both run in an empty folder on copies of the inputs, always with the same options, and the locks are replaced
when both are there. The same inputs and channels give the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from envhub.build._conda import Solver, channel_url, choose_solver
from envhub.build._disk import write_whole
from envhub.build._errors import LockFailed, LockInvalid
from envhub.build._files import SpecFiles
from envhub.build._fresh import locked_python, platforms_note
from envhub.build._inputs import DEFAULT_VIRTUAL_PACKAGES, Inputs, read_inputs
from envhub.build._mirrors import Mirrors, config_file, masked, read_mirrors
from envhub.build._yaml import load_yaml
from envhub.spec import Spec, python_suits, reference

_UV_PLATFORMS = {
    "linux-64": "x86_64-manylinux",
    "linux-aarch64": "aarch64-manylinux",
    "osx-64": "x86_64-apple-darwin",
    "osx-arm64": "aarch64-apple-darwin",
}
_OTHERS_SETTINGS = (
    *("CONDA_LOCK_", "CONDA_OVERRIDE_", "CONDA_FLAGS"),
    *("UV_CONSTRAINT", "UV_OVERRIDE", "UV_EXCLUDE_NEWER", "UV_PRERELEASE", "UV_RESOLUTION"),
)
"""How the variables begin that would change a lock behind our back."""


@dataclass(frozen=True, slots=True)
class Relocked:
    """What locking wrote.

    Attributes:
        spec: The name of the spec.
        solver: What found the conda packages.
        python: The version of Python that was locked.
        conda: How many conda packages were locked, over all platforms.
        pypi: How many PyPI packages were locked.
        changed: The files whose bytes are others than before.
    """

    spec: str
    solver: str
    python: str
    conda: int
    pypi: int
    changed: tuple[Path, ...]


def relock(
    spec: Spec,
    *,
    conda: str | None = None,
    channels: Sequence[str] = (),
    mirrors: Mirrors | None = None,
    progress: Callable[[str], None] = lambda stage: None,
) -> Relocked:
    """Make both locks of a spec anew.

    Args:
        spec: The spec.
        conda: A conda, mamba or micromamba to solve with; by default one that is found, else our own solver.
        channels: Channels to use instead of those in `environment.yml`.
        mirrors: The mirrors of channels; by default the user's.
        progress: Called with what is done next.

    Raises:
        BuildError: an input is missing or wrong, there is no solution, or a tool is missing or failed. The
            locks are then what they were.
    """
    inputs = read_inputs(spec)
    if any(masked(channel) != channel for channel in channels or inputs.channels):
        raise LockInvalid(
            f"{spec.name}: a channel's address holds a password or token, which the lock would show; name "
            f"it without, and put the address with it under [mirrors] in {config_file()}"
        )
    solver = choose_solver(conda, channels or inputs.channels, read_mirrors() if mirrors is None else mirrors)
    progress(f"{spec.name}: conda packages, with {solver.name}")
    conda_lock = lock_conda(spec, inputs, solver, channels)
    python, count = _look_into(spec, conda_lock)
    texts = {"conda-lock.yml": conda_lock}
    pypi = 0
    if inputs.requirements is not None:
        progress(f"{spec.name}: PyPI packages, with uv")
        texts["requirements.lock"] = lock_pypi(spec, inputs, python)
        pypi = len(re.findall(r"^[^#\s].*==", texts["requirements.lock"], re.MULTILINE))
    return Relocked(spec.name, solver.name, python, count, pypi, _write(spec, texts))


def lock_conda(spec: Spec, inputs: Inputs, solver: Solver, channels: Sequence[str] = ()) -> str:
    """Return the text of `conda-lock.yml`, as conda-lock writes it.

    Raises:
        LockFailed: there is no solution, a channel cannot be read, or conda-lock is missing.
    """
    _require("conda-lock", "4.0.3", "5")
    files = SpecFiles.of(spec)
    with tempfile.TemporaryDirectory(prefix="envhub-lock-") as name:
        folder = Path(name)
        (folder / "environment.yml").write_bytes(files.environment.read_bytes())
        machine = files.virtual_packages
        text = machine.read_text("utf-8") if machine.is_file() else DEFAULT_VIRTUAL_PACKAGES
        (folder / "virtual-packages.yml").write_text(text, encoding="utf-8")
        (folder / "names.json").write_text("{}")  # PyPI names to conda names; the default is a download
        (folder / "notes.json").write_text(json.dumps(inputs.conda_digests))
        command = [sys.executable, "-P", "-m", "conda_lock", "lock"]
        command += ["--conda", str(solver.executable(folder)), "--no-mamba", "--no-micromamba"]
        command += ["--file", "environment.yml", "--lockfile", "conda-lock.yml", "--kind", "lock"]
        command += ["--virtual-package-spec", "virtual-packages.yml", "--metadata-yaml", "notes.json"]
        command += ["--pypi_to_conda_lookup_file", "names.json"]
        command += [word for platform in inputs.platforms for word in ("--platform", platform)]
        command += [word for channel in channels for word in ("--channel", channel)]
        done = _run(command, folder)
        if done.returncode:
            raise _unsolved(spec, solver, channels or inputs.channels, done.stderr)
        return (folder / "conda-lock.yml").read_text(encoding="utf-8")


def lock_pypi(spec: Spec, inputs: Inputs, python: str) -> str:
    """Return the text of `requirements.lock`: names, versions and hashes, and no address.

    Args:
        spec: The spec.
        inputs: What it asks for.
        python: The version of Python that was locked.

    Raises:
        LockFailed: there is no solution, the packages differ between platforms, or uv is missing.
    """
    _require("uv", "0.9")
    files = SpecFiles.of(spec)
    found = {platform: _compiled(spec, inputs, python, platform) for platform in inputs.platforms}
    first, *others = inputs.platforms
    for other in others:
        if found[other] != found[first]:
            raise LockFailed(
                f"{spec.name}: {files.requirements}: {first} and {other} need different PyPI packages, and "
                "one requirements.lock holds for all platforms; lock for one of them in environment.yml"
            )
    notes = {
        "requirements.in": inputs.requirements_digest,
        "python": python,
        "platforms": platforms_note(inputs),
    }
    head = (
        "# The PyPI packages, locked by `envhub lock`. To change them, edit requirements.in and lock again.\n"
    )
    return head + "".join(f"# {key}: {value}\n" for key, value in notes.items()) + found[first]


def _compiled(spec: Spec, inputs: Inputs, python: str, platform: str) -> str:
    from uv import find_uv_bin

    files = SpecFiles.of(spec)
    glibc = inputs.glibc(platform)
    target = _UV_PLATFORMS[platform] + (f"_{glibc.replace('.', '_')}" if glibc else "")
    with tempfile.TemporaryDirectory(prefix="envhub-lock-") as name:
        source, out = Path(name) / "requirements.in", Path(name) / "requirements.lock"
        source.write_text("".join(f"{one}\n" for one in inputs.requirements or ()), encoding="utf-8")
        command = [find_uv_bin(), "pip", "compile", source.name, "--output-file", out.name, "--quiet"]
        command += ["--generate-hashes", "--no-header", "--no-annotate"]
        command += ["--no-emit-index-url", "--no-emit-find-links", "--no-python-downloads"]
        command += ["--python-version", python, "--python-platform", target, "--python", sys.executable]
        done = _run(command, Path(name))
        if done.returncode:
            if glibc and f"invalid value '{target}'" in done.stderr:
                known = re.findall(rf"{re.escape(_UV_PLATFORMS[platform])}_(\d+)_(\d+)[,\]]", done.stderr)
                raise LockFailed(
                    f"{spec.name}: {files.virtual_packages}: __glibc {glibc!r} of {platform} is none that uv "
                    f"can lock PyPI packages for; write one of {', '.join(map('.'.join, known))} and run: "
                    f"envhub lock {reference(spec)}"
                )
            raise LockFailed(
                f"{spec.name}: {files.requirements}: no packages for Python {python} on {platform}:\n"
                f"{done.stderr.strip()}\nChange the file, or mend the way to the package index, and run: "
                f"envhub lock {reference(spec)}"
            )
        text = out.read_text(encoding="utf-8")
    if "://" in text:
        raise LockFailed(
            f"{spec.name}: {files.requirements}: uv locked an address, which no lock may hold:\n{text}"
        )
    return text


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_OTHERS_SETTINGS)}
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True)


def _look_into(spec: Spec, conda_lock: str) -> tuple[str, int]:
    """Return the locked Python's version and the number of packages of a fresh lock."""
    content = load_yaml(conda_lock)
    python = locked_python(content)
    if python is None or not python_suits(spec.requires_python, python):
        raise LockFailed(
            f"{spec.name}: environment.yml leads to {'no Python' if python is None else f'Python {python}'}, "
            "and envhub.toml has requires_python = "
            f'"{spec.requires_python}"; change one of them and run: envhub lock {reference(spec)}'
        )
    return python, len(content["package"])


def _write(spec: Spec, texts: dict[str, str]) -> tuple[Path, ...]:
    """Replace the locks where they differ, add `virtual-packages.yml`, and remove a lock left over."""
    files = SpecFiles.of(spec)
    if not files.virtual_packages.is_file():
        texts = {"virtual-packages.yml": DEFAULT_VIRTUAL_PACKAGES, **texts}
    changed = []
    try:
        for name, text in texts.items():
            file = files.folder / name
            if file.is_file() and file.read_bytes() == text.encode():
                continue
            write_whole(file, text)
            changed.append(file)
        if "requirements.lock" not in texts and files.requirements_lock.is_file():
            files.requirements_lock.unlink()
            changed.append(files.requirements_lock)
    except OSError as reason:
        raise LockFailed(
            f"{spec.name}: the locks in {files.folder} cannot be written: {reason.strerror}"
        ) from reason
    return tuple(changed)


def _require(package: str, least: str, below: str | None = None) -> None:
    """Refuse a tool that is missing or of a version whose locks may look otherwise."""
    from packaging.specifiers import SpecifierSet

    wanted = SpecifierSet(f">={least}" + (f",<{below}" if below else ""))
    try:
        found = version(package)
    except PackageNotFoundError:
        found = None
    if found is None or not wanted.contains(found, prereleases=True):
        raise LockFailed(
            f"locking needs {package}{wanted}, and {found or 'none'} is installed: pip install '.[build]' in "
            "a clone of EnvHub, pip install 'envhub[build]' anywhere else"
        )


def _unsolved(spec: Spec, solver: Solver, channels: Sequence[str], output: str) -> LockFailed:
    """Make the error of a failed conda-lock from what it printed."""
    file, answer = SpecFiles.of(spec).environment, _solver_answer(output)
    platform = re.search(r"Could not lock the environment for platform ([\w-]+)", output)
    on = f" on {platform[1]}" if platform else ""
    message = str(answer.get("message") or answer.get("error") or "").strip()
    if not message:
        last = (output.strip().splitlines() or ["it said nothing"])[-1]
        return LockFailed(
            f"{spec.name}: {file}: conda-lock failed with {solver.name}{on}: {last}\n"
            "Leave --conda out to use another solver, or look into environment.yml and virtual-packages.yml"
        )
    kind = str(answer.get("error") or answer.get("exception_name") or "")
    if "Gateway" in kind or "HTTP" in kind or "Fetch" in kind:
        mirrored = [url for url in map(channel_url, channels) if solver.mirrors.concern(url)]
        advice = f"Name a mirror of it under [mirrors] in {config_file()}, or another one with --channel URL"
        if mirrored:
            leads = ", ".join(f"{url} to {solver.mirrors.shown(url)}" for url in mirrored)
            advice = f"The mirrors in {config_file()} lead from {leads}: correct them there if they are wrong"
        return LockFailed(
            f"{spec.name}: {file}: a channel cannot be read ({', '.join(channels)}): {message}\n{advice}"
        )
    return LockFailed(
        f"{spec.name}: {file}: there is no lock for it{on}: {message}\n"
        f"Change the file and run: envhub lock {reference(spec)}"
    )


def _solver_answer(output: str) -> dict[str, Any]:
    """Find the solver's JSON in what conda-lock prints of it."""
    start = output.find("{", output.find("STDOUT:"))
    try:
        answer = json.JSONDecoder().raw_decode(output[start:])[0] if start >= 0 else {}
    except json.JSONDecodeError:
        answer = {}
    return answer if isinstance(answer, dict) else {}

"""A conda channel and a PyPI index on this disk, made from what runs the tests: nothing is downloaded.

Packages: `python` (the running interpreter, repacked), `libreckon` (a native library), `tally` (a pure
Python package that needs both), `zz-unrelated`; and on the index `abacus` (a wheel) and `slate` (only a
source archive).
"""

from __future__ import annotations

import bz2
import hashlib
import io
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PLACEHOLDER = "/" + "placehold_" * 25 + "end_"  # 255 characters, as conda-build has it
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
VERSION = platform.python_version()
SUBDIR = {"x86_64": "linux-64", "aarch64": "linux-aarch64"}[platform.machine()]
LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "pydoc_data",
            "site-packages", "dist-packages", "__pycache__")  # fmt: skip


@dataclass(frozen=True)
class Channel:
    """What was made.

    Attributes:
        folder: The channel's folder.
        index: The folder of the PyPI index's pages, one folder a project.
        records: What the channel's own index says of each package, by name.
        archives: The archives of the PyPI index by project.
    """

    folder: Path
    index: Path
    records: Mapping[str, dict[str, Any]]
    archives: Mapping[str, Path] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.folder.as_uri()

    def environ(self) -> dict[str, str]:
        """The variables that make uv use the index and nothing else."""
        return {"UV_DEFAULT_INDEX": self.index.as_uri(), "UV_NO_CONFIG": "1"}

    def archive(self, name: str) -> Path:
        """The file of a conda package."""
        record = self.records[name]
        return self.folder / record["subdir"] / record["fn"]

    def conda_lock(self, names: Iterable[str]) -> dict[str, Any]:
        """The content of a conda-lock.yml of some of the packages, as conda-lock would write it."""
        packages = [self._locked(self.records[name]) for name in sorted(names)]
        metadata = {"content_hash": {SUBDIR: "0" * 64}, "platforms": [SUBDIR], "sources": ["environment.yml"]}
        metadata["channels"] = [{"url": self.url, "used_env_vars": []}]
        return {"version": 1, "metadata": metadata, "package": packages}

    def _locked(self, record: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "name": record["name"],
            "version": record["version"],
            "manager": "conda",
            "platform": SUBDIR,
            "dependencies": {need.split()[0]: need.partition(" ")[2] for need in record["depends"]},
            "url": f"{self.url}/{record['subdir']}/{record['fn']}",
            "hash": {"md5": record["md5"], "sha256": record["sha256"]},
            "category": "main",
            "optional": False,
        }

    def requirements_lock(self, names: Iterable[str]) -> str:
        """The text of a requirements.lock of some of the index's projects."""
        lines = []
        for name in sorted(names):
            version = self.archives[name].name.split("-")[1].removesuffix(".tar.gz")
            digest = hashlib.sha256(self.archives[name].read_bytes()).hexdigest()
            lines.append(f"{name}=={version} \\\n    --hash=sha256:{digest}\n")
        return "".join(lines)


def make_channel(folder: Path) -> Channel:
    """Make everything in an empty folder."""
    channel = folder / "channel"
    conda(channel, "python", VERSION, python_files(), subdir=SUBDIR)
    conda(channel, "libreckon", "1.4", native_files(), subdir=SUBDIR, depends=["__glibc >=2.17"])
    module = b"import ctypes, pathlib, sys\n"
    module += b"_lib = ctypes.CDLL(str(pathlib.Path(sys.prefix, 'lib/libreckon.so')))\n"
    module += b"_lib.cbrt.restype, _lib.cbrt.argtypes = ctypes.c_double, [ctypes.c_double]\n"
    module += b"def root(value):\n    return _lib.cbrt(value)\n"
    pure = [("site-packages/tally/__init__.py", module, 0o644)]
    conda(channel, "tally", "2.1", pure, depends=["python >=3.9", "libreckon >=1.4,<2"], noarch=True)
    text = f"home={PLACEHOLDER}\n".encode()
    conda(channel, "zz-unrelated", "0.1", [("share/zz/where.txt", text, 0o644)], extension=".tar.bz2")
    index_channel(channel)
    archives = {"abacus": wheel(folder / "files"), "slate": sdist(folder / "files")}
    simple_index(folder / "simple", archives)
    return Channel(channel, folder / "simple", read_records(channel), archives)


def index_channel(folder: Path) -> None:
    """Write the channel's repodata (again)."""
    script = (
        "import asyncio, os, sys; from rattler import index\n"
        "asyncio.run(index.index_fs(sys.argv[1], write_zst=False, write_shards=False, force=True))\n"
        "os._exit(0)"  # the library may crash when the interpreter shuts down
    )
    subprocess.run([sys.executable, "-c", script, str(folder)], check=True, capture_output=True, timeout=120)


def read_records(folder: Path) -> dict[str, dict[str, Any]]:
    records = {}
    for file in folder.glob("*/repodata.json"):
        repodata = json.loads(file.read_text())
        for name, record in {**repodata["packages"], **repodata["packages.conda"]}.items():
            records[record["name"]] = {**record, "fn": name, "subdir": file.parent.name}
    return records


# -- conda packages -----------------------------------------------------------------------------------

Files = Iterable[tuple[str, "bytes | str", int]]
"""Path in the package, content (a symlink's target where it is text) and mode."""


def conda(
    channel: Path,
    name: str,
    version: str,
    files: Files,
    *,
    subdir: str = "noarch",
    depends: Iterable[str] = (),
    noarch: bool = False,
    build: str = "0",
    extension: str = ".conda",
    claimed: int | None = None,
) -> Path:
    """Pack files as a conda package into a channel; not indexed yet. Returns the archive.

    `claimed` is the size that the package says each of its files has, where that is not the truth.
    """
    payload, paths = list(files), []
    for path, content, _ in payload:
        paths.append({**_path_entry(path, content), **({"size_in_bytes": claimed} if claimed else {})})
    index: dict[str, Any] = {"name": name, "version": version, "build": build, "build_number": 0}
    index |= {"depends": list(depends), "subdir": subdir, "timestamp": 1_700_000_000_000, "license": "none"}
    if noarch:
        index["noarch"] = "python"
    info: list[tuple[str, bytes | str, int]] = [
        ("info/index.json", json.dumps(index).encode(), 0o644),
        ("info/paths.json", json.dumps({"paths": paths, "paths_version": 1}).encode(), 0o644),
    ]
    if noarch:
        link = {"noarch": {"type": "python"}, "package_metadata_version": 1}
        info.append(("info/link.json", json.dumps(link).encode(), 0o644))
    stem = f"{name}-{version}-{build}"
    file = channel / subdir / f"{stem}{extension}"
    file.parent.mkdir(parents=True, exist_ok=True)
    (channel / "noarch").mkdir(exist_ok=True)
    if extension == ".tar.bz2":
        file.write_bytes(bz2.compress(_tar([*info, *payload]), 1))
    else:
        _write_conda(file, stem, _tar(info), _tar(payload))
    return file


def _write_conda(file: Path, stem: str, info: bytes, payload: bytes) -> None:
    import zstandard

    packed = zstandard.ZstdCompressor(level=1)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for member, content in (
            ("metadata.json", b'{"conda_pkg_format_version": 2}'),
            (f"pkg-{stem}.tar.zst", packed.compress(payload)),
            (f"info-{stem}.tar.zst", packed.compress(info)),
        ):
            archive.writestr(zipfile.ZipInfo(member, (2024, 1, 1, 0, 0, 0)), content)


def _path_entry(path: str, content: bytes | str) -> dict[str, Any]:
    if isinstance(content, str):
        return {"_path": path, "path_type": "softlink", "size_in_bytes": 0,
                "sha256": hashlib.sha256(b"").hexdigest()}  # fmt: skip
    entry: dict[str, Any] = {"_path": path, "path_type": "hardlink", "size_in_bytes": len(content)}
    entry["sha256"] = hashlib.sha256(content).hexdigest()
    if PLACEHOLDER.encode() in content:
        entry |= {"prefix_placeholder": PLACEHOLDER, "file_mode": "text"}
    return entry


def _tar(files: Files) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, content, mode in files:
            member = tarfile.TarInfo(path)
            member.mode, member.mtime = mode, 1_700_000_000
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


WHERE = """
import json, platform, sys, sysconfig
base = sys.base_prefix
stdlib = sysconfig.get_path("stdlib", vars={"base": base, "installed_base": base})
version = platform.python_version()
print(json.dumps([base, sys._base_executable, stdlib, "%d.%d" % sys.version_info[:2], version]))
"""


def python_files(interpreter: Path = Path(sys.executable)) -> Files:
    """An interpreter's own files, so that they work in any folder."""
    base, executable, stdlib, python, _ = where(interpreter)
    program = Path(executable).resolve()
    yield f"bin/python{python}", _relocatable(program.read_bytes(), base), 0o755
    yield "bin/python3", f"python{python}", 0o777
    yield "bin/python", f"python{python}", 0o777
    library = Path(base, "lib", f"libpython{python}.so.1.0")
    if library.is_file():
        yield f"lib/{library.name}", _relocatable(library.read_bytes(), base), 0o755
    for parent, folders, names in os.walk(stdlib):
        folders[:] = sorted(one for one in folders if one not in LEFT_OUT and not one.startswith("config-"))
        for name in sorted(names):
            file = Path(parent, name)
            if file.suffix in (".pyc", ".a") or not file.is_file():
                continue
            content, mode = file.read_bytes(), 0o755 if file.suffix == ".so" else 0o644
            if file.suffix == ".so":
                content = _relocatable(content, base)
            elif b"\0" not in content:
                content = content.replace(os.fsencode(base), PLACEHOLDER.encode())
            yield f"lib/python{python}/{file.relative_to(stdlib)}", content, mode
    yield f"lib/python{python}/site-packages/README.txt", b"Installed packages go here.\n", 0o644


def where(interpreter: Path) -> list[str]:
    """The prefix, program, library folder, short and whole version of an interpreter, or of a venv's base."""
    command = [str(interpreter), "-I", "-c", WHERE]
    found: list[str] = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)
    return found


def _relocatable(content: bytes, base: str) -> bytes:
    """A binary whose library path leads to the `lib` beside it, if it led to the interpreter's own."""
    old, new = os.fsencode(f"{base}/lib") + b"\0", b"$ORIGIN/../lib\0"
    return content.replace(old, new.ljust(len(old), b"\0")) if len(new) <= len(old) else content


def native_files() -> Files:
    """The C library's mathematics under another name: a native library without a compiler."""
    maps = Path("/proc/self/maps").read_text()
    loaded = re.search(r"(/\S*/libm[.-]\S*)$", maps, re.MULTILINE)
    assert loaded, "this interpreter has loaded no libm"
    yield "lib/libreckon.so.1", Path(loaded[1]).read_bytes(), 0o755
    yield "lib/libreckon.so", "libreckon.so.1", 0o777


# -- the PyPI index -----------------------------------------------------------------------------------


def wheel(folder: Path, name: str = "abacus", version: str = "1.2", source: str = "BEADS = 10\n") -> Path:
    """A pure Python wheel of one module."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    members = {
        f"{name}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*members, f"{info}/RECORD"])
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in {**members, f"{info}/RECORD": record}.items():
            archive.writestr(zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0)), text)
    return file


BACKEND = """
import pathlib, zipfile

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name, info = "slate-0.3-py3-none-any.whl", "slate-0.3.dist-info"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as archive:
        archive.writestr("slate.py", "LINES = 3\\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: slate\\nVersion: 0.3\\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        files = ["slate.py", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"]
        archive.writestr(f"{info}/RECORD", "".join(f"{one},,\\n" for one in files))
    return name
"""


def sdist(folder: Path) -> Path:
    """A source archive that brings its own build backend, so that building it needs nothing."""
    file = folder / "slate-0.3.tar.gz"
    pyproject = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    pyproject += '[project]\nname = "slate"\nversion = "0.3"\n'
    metadata = "Metadata-Version: 2.2\nName: slate\nVersion: 0.3\n"
    members = {"pyproject.toml": pyproject, "backend.py": BACKEND, "PKG-INFO": metadata}
    with tarfile.open(file, "w:gz") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(f"slate-0.3/{name}")
            member.size, member.mtime = len(text.encode()), 1_700_000_000
            archive.addfile(member, io.BytesIO(text.encode()))
    return file


def simple_index(folder: Path, archives: Mapping[str, Path]) -> None:
    """Write the pages of a package index around files."""
    for name, file in archives.items():
        page = folder / name / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        page.write_text(f'<!DOCTYPE html><a href="{file.as_uri()}#sha256={digest}">{file.name}</a>\n')

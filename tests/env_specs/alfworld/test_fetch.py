"""Fetching the official release: from servers that drop connections, from files, and checked by digest."""

import hashlib
import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from envhub_alfworld.data import open_library
from envhub_alfworld.errors import DataError
from envhub_alfworld.fetch import FILES, fetch
from envhub_alfworld.generate import households, write_game


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Files like those of the official release, with generated games: path to content."""
    root = tmp_path_factory.mktemp("games")
    for split, household in households(0, {"train": 6, "valid_seen": 2, "valid_unseen": 1}):
        write_game(root / split / household.folder, household)
    parts: dict[str, dict[str, bytes]] = {file.path: {} for file in FILES}
    for path in sorted(root.rglob("*.*")):
        if path.is_file():
            at = {"traj_data.json": 0, "initial_state.pddl": 1, "game.tw-pddl": 2}[path.name]
            root_name = "json_2.1.2_tw-pddl" if at == 2 else "json_2.1.1"
            parts[FILES[at].path][f"{root_name}/{path.relative_to(root)}"] = path.read_bytes()
    return {path: zipped(files) for path, files in parts.items()}


class Server(ThreadingHTTPServer):
    """Serves files, and does with a request what the next of `faults` says.

    A number: that many bytes come, then the connection breaks. "whole": ranges are ignored. An HTTP status.
    """

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.faults: list[Any] = []
        self.ranges: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/releases"


class Handler(BaseHTTPRequestHandler):
    server: Server  # type: ignore[assignment]
    protocol_version: ClassVar[str] = "HTTP/1.1"

    def do_GET(self) -> None:
        self.close_connection = True
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        fault = self.server.faults.pop(0) if self.server.faults else None
        content = self.server.files.get(self.path.removeprefix("/releases/"))
        if isinstance(fault, str) and fault.isdigit():
            self.send_error(int(fault))
            return
        if content is None:
            self.send_error(404)
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and fault != "whole" else 0
        if start >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        end = len(content) if not isinstance(fault, int) else start + fault
        self.wfile.write(content[start:end])

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server(release: dict[str, bytes]) -> Iterator[Server]:
    with Server(release) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def download(server: Server, out: Path) -> dict[str, str]:
    return fetch(out, releases=server.url, pause_s=0.0)


def test_the_release_is_laid_out_and_can_be_played(
    server: Server, release: dict[str, bytes], tmp_path: Path
) -> None:
    stages: dict[str, tuple[int, int]] = {}

    def tell(stage: str, done: int, total: int) -> None:
        stages[stage] = done, total

    digests = fetch(tmp_path, releases=server.url, pause_s=0.0, progress=tell)
    assert digests == {
        path.rpartition("/")[2]: hashlib.sha256(content).hexdigest() for path, content in release.items()
    }
    library = open_library(str(tmp_path))
    assert {split: len(entries) for split, entries in library.entries.items()} == {
        "train": 6,
        "valid_seen": 2,
        "valid_unseen": 1,
    }
    for task in library.tasks("train"):
        assert library.game(task["id"]).walkthrough
    for file in FILES:
        size = len(release[file.path])
        assert stages[f"fetch {file.name}"] == (size, size)
        assert stages[f"check {file.name}"] == (size, size)
    assert all(done == total for done, total in stages.values())


def test_a_dropped_connection_is_taken_up_where_it_broke(
    server: Server, release: dict[str, bytes], tmp_path: Path
) -> None:
    server.faults = [1000, 0, "503", 500, 0]
    download(server, tmp_path)
    assert server.ranges[:6] == [
        None,
        "bytes=1000-",
        "bytes=1000-",
        "bytes=1000-",
        "bytes=1500-",
        "bytes=1500-",
    ]
    for file in FILES:
        assert (tmp_path / "downloads" / file.name).read_bytes() == release[file.path]


def test_a_server_that_ignores_ranges_sends_it_all_again(
    server: Server, release: dict[str, bytes], tmp_path: Path
) -> None:
    server.faults = [1000, "whole"]
    download(server, tmp_path)
    assert (tmp_path / "downloads" / FILES[0].name).read_bytes() == release[FILES[0].path]


def test_a_later_run_goes_on_and_needs_nothing_that_is_there(server: Server, tmp_path: Path) -> None:
    server.faults = [700, 0, 0, 0, 0, 0]
    with pytest.raises(DataError, match=r"5 times in a row. What has come is kept: fetch again to go on"):
        download(server, tmp_path)
    server.faults, server.ranges = [], []
    download(server, tmp_path)
    assert server.ranges == ["bytes=700-", None, None]
    server.ranges = []
    download(server, tmp_path)
    assert server.ranges == []


def test_a_part_that_is_complete_is_not_fetched_again(
    server: Server, release: dict[str, bytes], tmp_path: Path
) -> None:
    part = tmp_path / "downloads" / f"{FILES[0].name}.part"
    part.parent.mkdir()
    part.write_bytes(release[FILES[0].path])
    download(server, tmp_path)
    assert server.ranges[0] == f"bytes={len(release[FILES[0].path])}-"


def test_a_part_that_is_too_long_is_thrown_away(
    server: Server, release: dict[str, bytes], tmp_path: Path
) -> None:
    part = tmp_path / "downloads" / f"{FILES[0].name}.part"
    part.parent.mkdir()
    part.write_bytes(release[FILES[0].path] + b"more")
    download(server, tmp_path)
    assert (tmp_path / "downloads" / FILES[0].name).read_bytes() == release[FILES[0].path]


def test_a_missing_file_is_named_with_a_way_out(server: Server, tmp_path: Path) -> None:
    server.files = {}
    with pytest.raises(DataError, match=r"json_2.1.1_json.zip: HTTP 404 .*--from DIR"):
        download(server, tmp_path)


def test_another_file_than_the_first_one_is_refused(server: Server, tmp_path: Path) -> None:
    first = download(server, tmp_path)
    record = json.loads((tmp_path / "downloads" / "sha256.json").read_text("utf-8"))
    assert record == first
    file = tmp_path / "downloads" / FILES[0].name
    file.unlink()
    server.files = {**server.files, FILES[0].path: zipped({"json_2.1.1/x": b"y"})}
    with pytest.raises(DataError, match=f"{first[FILES[0].name]} was fetched first"):
        download(server, tmp_path)


def test_files_that_are_here_already_are_taken(release: dict[str, bytes], tmp_path: Path) -> None:
    source = tmp_path / "have"
    source.mkdir()
    for path, content in release.items():
        (source / path.rpartition("/")[2]).write_bytes(content)
    fetch(tmp_path / "all", source)
    assert len(open_library(str(tmp_path / "all")).entries["train"]) == 6
    (source / FILES[1].name).unlink()
    with pytest.raises(DataError, match=r"there is no such file. Name a folder with json_2.1.1_json.zip"):
        fetch(tmp_path / "again", source)


def both_in_one(release: dict[str, bytes]) -> bytes:
    """One archive with all that is needed to play."""
    both = {}
    for path in (FILES[0].path, FILES[2].path):
        with zipfile.ZipFile(io.BytesIO(release[path])) as packed:
            both.update({name: packed.read(name) for name in packed.namelist()})
    return zipped(both)


def test_one_file_can_be_enough(release: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "mine.zip").write_bytes(both_in_one(release))
    assert list(fetch(tmp_path / "out", tmp_path / "mine.zip")) == ["mine.zip"]
    assert len(open_library(str(tmp_path / "out")).entries["train"]) == 6


@pytest.mark.parametrize("name", ["../out", "/etc/out", "json_2.1.1/../../out", "a\\..\\out"])
def test_an_archive_that_would_write_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "bad.zip").write_bytes(zipped({name: b""}))
    with pytest.raises(DataError, match="would be written elsewhere"):
        fetch(tmp_path / "out", tmp_path / "bad.zip")


def damaged(content: bytes) -> dict[str, bytes]:
    """An archive, spoilt in several ways."""
    middle = len(content) // 2
    flipped = content[:200] + bytes(255 - byte for byte in content[200:260]) + content[260:]
    return {"page": b"<html>sign in</html>", "cut": content[:middle], "flipped": flipped, "blank": b""}


@pytest.mark.parametrize("damage", ["page", "cut", "flipped", "blank"])
def test_a_damaged_zip_is_told_by_its_name_and_not_kept(
    release: dict[str, bytes], tmp_path: Path, damage: str
) -> None:
    sound = both_in_one(release)
    mine = tmp_path / "mine.zip"
    mine.write_bytes(damaged(sound)[damage])
    with pytest.raises(DataError, match=f"^{re.escape(str(mine))}: is no sound zip file"):
        fetch(tmp_path / "out", mine)
    assert list((tmp_path / "out" / "downloads").iterdir()) == []
    mine.write_bytes(sound)
    fetch(tmp_path / "out", mine)
    assert len(open_library(str(tmp_path / "out")).entries["train"]) == 6


def test_a_damaged_download_is_not_kept(server: Server, release: dict[str, bytes], tmp_path: Path) -> None:
    server.files = {**release, FILES[0].path: damaged(release[FILES[0].path])["flipped"]}
    with pytest.raises(DataError, match=f"^{re.escape(server.url)}/{FILES[0].path}: is no sound zip file"):
        download(server, tmp_path)
    server.files = release
    download(server, tmp_path)
    assert len(open_library(str(tmp_path)).entries["train"]) == 6


def test_the_file_that_is_named_is_taken_and_not_an_older_one_of_its_name(tmp_path: Path) -> None:
    mine, out = tmp_path / "mine.zip", tmp_path / "out"
    for content in (b"first", b"other"):  # of one size
        mine.write_bytes(zipped({"json_2.1.1/train/a": content}))
        found = fetch(out, mine)
        assert found == {"mine.zip": hashlib.sha256(mine.read_bytes()).hexdigest()}
        assert (out / "json_2.1.1" / "train" / "a").read_bytes() == content
    assert json.loads((out / "downloads" / "sha256.json").read_text("utf-8")) == found

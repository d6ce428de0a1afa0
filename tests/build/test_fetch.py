"""Fetching over HTTP: what is tried again, what is refused, and what is kept."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from envhub.build import DiskFull, FetchFailed, HashMismatch, Mirrors, NotCached, Store
from envhub.build._fetch import Wanted, fetch

CONTENT = b"an archive" * 100_000
Have = Callable[..., list[Path]]


@dataclass(frozen=True)
class Answer:
    """An answer of the server; `claimed` is the length it says it has, where that is not the truth."""

    body: bytes
    status: int = 200
    claimed: int | None = None
    location: str | None = None


class Server(ThreadingHTTPServer):
    """Answers a request for a path with the next of that path's answers, the last one for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        answers = self.server.answers[self.path]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(answer.status)
        self.send_header("Content-Length", str(answer.claimed or len(answer.body)))
        if answer.location:
            self.send_header("Location", answer.location)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def have(store: Store, tmp_path: Path) -> Have:
    """Fetch archives; takes what `fetch` takes."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def call(
        wanted: Sequence[Wanted], mirrors: Mirrors | None = None, offline: bool = False, report: object = None
    ) -> list[Path]:
        told = report if callable(report) else lambda *event: None
        return fetch(wanted, store, scratch, mirrors or Mirrors(), offline=offline, report=told)

    return call


def archive(url: str, content: bytes = CONTENT, name: str = "thing") -> Wanted:
    sha256, md5 = hashlib.sha256(content).hexdigest(), hashlib.md5(content).hexdigest()
    return Wanted(f"{name} 1.0", Path("/spec/conda-lock.yml"), f"{name}-1.0-0.conda", url, sha256, md5)


def test_an_archive_is_fetched_once_and_then_found(server: Server, have: Have) -> None:
    server.answers = {"/a": [Answer(CONTENT)]}
    wanted = archive(f"{server.url}/a")
    (first,) = have([wanted])
    assert first.read_bytes() == CONTENT
    assert (first.name, first.parent.name) == ("thing-1.0-0.conda", wanted.sha256)
    assert have([wanted]) == have([wanted], offline=True) == [first]
    assert server.asked == ["/a"]


def test_many_are_returned_in_the_order_in_which_they_were_wanted(server: Server, have: Have) -> None:
    bodies = {f"/{number}": b"%d" % number * 1000 for number in range(20)}
    server.answers = {path: [Answer(body)] for path, body in bodies.items()}
    wanted = [archive(f"{server.url}{path}", body, f"p{path[1:]}") for path, body in bodies.items()]
    events: list[tuple[str, str, int, int]] = []
    found = have(wanted, report=lambda *event: events.append(event))
    assert [file.read_bytes() for file in found] == list(bodies.values())
    assert {item for stage, item, done, total in events if done == total} == {one.label for one in wanted}


@pytest.mark.parametrize(
    "first",
    [Answer(b"", 503), Answer(b"", 429), Answer(CONTENT[:-9], claimed=len(CONTENT))],
    ids=["unavailable", "too-many", "cut"],
)
def test_what_may_pass_is_tried_again(server: Server, have: Have, first: Answer) -> None:
    server.answers = {"/a": [first, first, Answer(CONTENT)]}
    (file,) = have([archive(f"{server.url}/a")])
    assert file.read_bytes() == CONTENT and server.asked == ["/a"] * 3


def test_what_does_not_pass_is_told_with_its_last_reason(server: Server, have: Have, store: Store) -> None:
    server.answers = {"/a": [Answer(b"", 503)]}
    with pytest.raises(
        FetchFailed, match=r"thing 1\.0 \(/spec/conda-lock\.yml\): .*/a cannot be fetched: .*503"
    ):
        have([archive(f"{server.url}/a")])
    assert server.asked == ["/a"] * 3 and not (store.root / "archives").exists()


def test_what_is_not_there_is_asked_for_once(server: Server, have: Have) -> None:
    server.answers = {"/a": [Answer(b"", 404)]}
    with pytest.raises(FetchFailed, match="the server answered 404"):
        have([archive(f"{server.url}/a")])
    assert server.asked == ["/a"]


def test_redirections_are_followed(server: Server, have: Have) -> None:
    server.answers = {"/a": [Answer(b"", 302, location="/b")], "/b": [Answer(CONTENT)]}
    (file,) = have([archive(f"{server.url}/a")])
    assert file.name == "thing-1.0-0.conda" and file.read_bytes() == CONTENT


def test_a_mirror_stands_in_for_the_locked_address(server: Server, have: Have, tmp_path: Path) -> None:
    server.answers = {"/mirror/a": [Answer(CONTENT)]}
    away = archive("https://conda.invalid/channel/a")
    (file,) = have([away], Mirrors({"https://conda.invalid/channel": f"{server.url}/mirror"}))
    assert file.read_bytes() == CONTENT
    folder = tmp_path / "a mirror"  # a space, which an address has as %20
    folder.mkdir()
    (folder / "b").write_bytes(b"b")
    (file,) = have(
        [archive("https://conda.invalid/b", b"b")], Mirrors({"https://conda.invalid": folder.as_uri()})
    )
    assert file.read_bytes() == b"b"


@pytest.mark.parametrize("name", ["sha256", "md5"])
def test_other_bytes_are_not_kept(server: Server, have: Have, store: Store, name: str) -> None:
    server.answers = {"/a": [Answer(CONTENT)]}
    wrong = replace(archive(f"{server.url}/a"), **{name: "0" * (64 if name == "sha256" else 32)})
    with pytest.raises(HashMismatch, match=f"thing 1.0: .* its {name} is"):
        have([wrong])
    assert not (store.root / "archives").exists()


def test_an_archive_larger_than_the_disk_is_refused_before_it_is_fetched(server: Server, have: Have) -> None:
    server.answers = {"/a": [Answer(b"", claimed=10**15)]}
    with pytest.raises(DiskFull, match=r"thing-1\.0-0\.conda has 953,674,316 MB and .* left"):
        have([archive(f"{server.url}/a")])


def test_a_disk_that_is_full_is_told_as_such(
    server: Server, have: Have, store: Store, tmp_path: Path
) -> None:
    server.answers = {"/a": [Answer(CONTENT)]}
    wanted = archive(f"{server.url}/a")
    (tmp_path / "scratch" / f"{wanted.sha256}.part").symlink_to("/dev/full")
    with pytest.raises(DiskFull, match=r"thing 1\.0: .*the disk is full; free some space") as full:
        have([wanted])
    assert store.command("store", "gc") in str(full.value)


def test_after_a_failure_what_was_fetched_is_kept(server: Server, have: Have, store: Store) -> None:
    server.answers = {"/a": [Answer(CONTENT)], "/b": [Answer(b"", 404)]}
    good, bad = archive(f"{server.url}/a"), archive(f"{server.url}/b", b"b", "other")
    have([good])
    with pytest.raises(FetchFailed, match=r"other 1\.0"):
        have([good, bad])
    with pytest.raises(NotCached, match=r"other 1\.0"):
        have([good, bad], offline=True)
    assert store.archive(good.sha256) is not None and store.archive(bad.sha256) is None


def test_a_file_that_is_not_there_is_told(have: Have, tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match="No such file or directory"):
        have([archive((tmp_path / "nothing").as_uri())])

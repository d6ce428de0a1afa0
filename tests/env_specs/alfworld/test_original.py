"""The published engine as an option, and the comparison of both."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from envhub_alfworld import AlfworldEnv, compare, original
from envhub_alfworld.data import Entry, Library, open_library, write
from envhub_alfworld.errors import InvalidOptions
from envhub_alfworld.game import Game
from envhub_alfworld.original import Original, OriginalError, Turn
from envhub_alfworld.state import State

SIX = {"train": 6, "valid_seen": 0, "valid_unseen": 0}
"""One game of each type."""


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> list[Entry]:
    folder = tmp_path_factory.mktemp("games")
    write(folder, 3, SIX)
    return open_library(str(folder)).entries["train"]


def script(folder: Path, text: str) -> str:
    """An interpreter that does something else."""
    file = folder / "python"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[str]]:
    """All processes that the engine starts."""
    processes: list[subprocess.Popen[str]] = []

    class Noted(subprocess.Popen[str]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            processes.append(self)

    monkeypatch.setattr(original.subprocess, "Popen", Noted)
    return processes


def test_an_interpreter_without_the_packages_is_told_what_to_install(games: list[Entry]) -> None:
    engine = Original("/usr/bin/false")
    with pytest.raises(
        OriginalError, match=r"ended with status 1\. Install it there \(pip install alfworld=="
    ):
        engine.load(Path("game.tw-pddl"))
    with pytest.raises(OriginalError, match=r"textworld_python: /no/such/python can't be run: No such file"):
        Original("/no/such/python").load(Path("game.tw-pddl"))


def test_an_engine_that_hangs_is_killed(tmp_path: Path, started: list[subprocess.Popen[str]]) -> None:
    engine = Original(script(tmp_path, "exec sleep 1000"), limit_s=0.1)
    with pytest.raises(OriginalError, match=r"gave no answer within 0\.1 s"):
        engine.load(Path("game.tw-pddl"))
    assert [process.returncode for process in started] == [-signal.SIGKILL]


class Late(BaseException):
    """What a worker raises in an environment whose time is up."""


@pytest.fixture
def alarm() -> Iterator[None]:
    """Makes SIGALRM raise `Late`, whatever is being done then."""

    def ring(signum: int, frame: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("alarm")
def test_a_time_limit_ends_a_hung_load_and_its_process(
    tmp_path: Path, library: Library, started: list[subprocess.Popen[str]]
) -> None:
    rings_while_loading = "echo '{\"ready\": {}}'; read request; kill -ALRM $PPID; exec sleep 1000"
    python = script(tmp_path, rings_while_loading)
    env = AlfworldEnv(library, engine="textworld", textworld_python=python)
    with pytest.raises(Late):
        env.reset(seed=1)
    assert [process.returncode for process in started] == [-signal.SIGKILL]


class Twin:
    """The native engine in the other's place, with one mistake."""

    mistake: dict[str, Any]

    def __init__(self, python: str, limit_s: float) -> None:
        self.state: State | None = None

    def start(self) -> None:
        pass

    def load(self, file: Path) -> Turn:
        self.state = State(Game.load(file.parent))
        return self.turn(self.state.introduction())

    def step(self, command: str) -> Turn:
        assert self.state is not None
        if command == self.mistake.get("fails on"):
            raise OriginalError("IndexError: pop from empty list")
        return self.turn(self.state.do(command))

    def turn(self, observation: str) -> Turn:
        assert self.state is not None
        turn = Turn(observation, self.state.commands(), self.state.won)
        return turn._replace(**self.mistake["says"]) if self.state.held is not None else turn

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    "what, mistake, native, textworld",
    [
        ("observation", {"says": {"observation": "You take it."}}, "You pick up ", "You take it."),
        ("admissible_commands", {"says": {"commands": ["help", "look", "sing"]}}, "examine ", ["sing"]),
        ("won", {"says": {"won": True}}, False, True),
        ("error", {"says": {}, "fails on": "look"}, None, "IndexError: pop from empty list"),
    ],
)
def test_the_first_difference_is_found(
    games: list[Entry],
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    mistake: dict[str, Any],
    native: Any,
    textworld: Any,
) -> None:
    monkeypatch.setattr(compare, "Original", Twin)
    monkeypatch.setattr(Twin, "mistake", mistake, raising=False)
    results = list(compare.compare(games))
    assert [result.game for result in results] == [game.id for game in games]
    difference = results[0].difference
    assert difference is not None
    assert difference.what == what
    assert difference.textworld == textworld
    said = difference.native[0] if what == "admissible_commands" else difference.native
    assert said.startswith(native) if isinstance(native, str) else said == native
    if what != "error":  # it is the first time that something is held
        assert difference.commands[-1].startswith("take ")
        assert results[0].turns == 1 + len(difference.commands)


def test_a_game_that_cannot_be_read_is_a_difference(
    games: list[Entry], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "Original", Twin)
    (tmp_path / "game.tw-pddl").write_text("{}")
    (result,) = compare.compare([games[0]._replace(source=tmp_path)])
    assert result.difference is not None
    assert "lacks 'pddl_domain'" in result.difference.native


def test_generated_games_are_the_same_in_both_engines(games: list[Entry], original_python: str) -> None:
    played = list(compare.compare(games, original_python))
    assert [result.difference for result in played] == [None] * 6
    assert all(result.turns > 2 * compare.COMMANDS for result in played)


def test_the_environment_plays_with_either_engine(library: Library, original_python: str) -> None:
    native = AlfworldEnv(library, mode="faithful", expert=True)
    published = AlfworldEnv(library, engine="textworld", textworld_python=original_python, expert=True)
    begun = published.reset(seed=11)
    assert begun == native.reset(seed=11)
    info = begun[1]
    saved: dict[str, Any] = {}
    done = False
    while not done:
        saved = published.get_state()
        command = info["expert_action"]
        step = published.step(command)
        assert step == native.step(command)
        done, info = step[2], step[4]
    assert info["won"]
    published.set_state(saved)
    assert published.step(command)[1:3] == (1.0, True)
    published.close()


def test_games_that_the_engine_cannot_load_are_told(
    games: list[Entry], tmp_path: Path, original_python: str
) -> None:
    engine = Original(original_python)
    (tmp_path / "game.tw-pddl").write_text("{}")
    with pytest.raises(OriginalError, match="KeyError"):
        engine.load(tmp_path / "game.tw-pddl")
    assert isinstance(games[0].source, Path)
    assert engine.load(games[0].source / "game.tw-pddl").observation.startswith(
        "-= Welcome"
    )  # in a new process
    engine.close()


def test_an_engine_that_is_not_there_is_refused_when_the_games_are_loaded() -> None:
    config = {"data_dir": "", "task_types": [], "engine": "textworld", "textworld_python": "/usr/bin/false"}
    with pytest.raises(InvalidOptions, match="the published engine can't be started in /usr/bin/false"):
        AlfworldEnv.load_shared(config)
    with pytest.raises(InvalidOptions, match="pip install alfworld"):
        AlfworldEnv(engine="textworld", textworld_python="/usr/bin/false")

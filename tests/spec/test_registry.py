"""Finding specs by name, path, plug-in and Gymnasium id."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envhub.spec import ConfigError, SpecError, SpecInvalid, SpecNotFound, available, bundled, find, reference

MAZE = """
name = "maze"
version = "1.0.0"
summary = "A maze."
entry_point = "envhub_maze:MazeEnv"
[action]
description = "a"
[observation]
description = "o"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "maze").mkdir()
    (tmp_path / "maze" / "envhub.toml").write_text(MAZE, encoding="utf-8")
    return tmp_path / "maze"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An importable folder in which tests install plug-ins, as pip would."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    before = set(sys.modules)
    yield site
    for name in set(sys.modules) - before:
        if name.startswith("mazes"):
            del sys.modules[name]


def install(site: Path, name: str, value: str) -> None:
    info = site / f"{name.replace('-', '_')}_dist-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-dist\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[envhub.specs]\n{name} = {value}\n")


def test_a_path_to_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find(str(folder)).path == folder.resolve()
    monkeypatch.chdir(folder.parent)
    assert find("./maze").name == "maze"
    assert find("maze").name == "maze"


def test_a_path_that_is_not_there_names_the_nearest_folder_with_a_spec(folder: Path) -> None:
    with pytest.raises(SpecNotFound, match=r"no spec folder at '\./nowhere'"):
        find("./nowhere")
    with pytest.raises(SpecNotFound, match=r"\(did you mean 'maze'\?\)"):
        find(f"{folder.parent}/mazes")


def test_bundled_specs_are_named_like_their_folders() -> None:
    specs = bundled()
    assert {"echo", "frozenlake"} <= {spec.name for spec in specs}
    for spec in specs:
        assert spec.path is not None
        assert spec.path.name == spec.name
        assert find(spec.name) == spec


def test_a_wrong_name_names_the_nearest_and_the_other_ways() -> None:
    with pytest.raises(SpecNotFound) as caught:
        find("frozenlak")
    assert "no spec named 'frozenlak' (did you mean 'frozenlake'?)" in str(caught.value)
    assert "./frozenlak" in str(caught.value)
    assert "gymnasium:ID" in str(caught.value)


def test_a_plugin_that_is_a_module_beside_its_toml(site: Path) -> None:
    (site / "mazes").mkdir()
    (site / "mazes" / "__init__.py").write_text("")
    (site / "mazes" / "envhub.toml").write_text(MAZE)
    install(site, "maze", "mazes")
    assert find("maze").path == (site / "mazes").resolve()
    assert "maze" in [spec.name for spec in available()]


def test_a_plugin_that_is_a_path(site: Path, folder: Path) -> None:
    (site / "mazes_path.py").write_text(f"WHERE = {str(folder)!r}\n")
    install(site, "maze", "mazes_path:WHERE")
    assert find("maze").path == folder.resolve()


@pytest.mark.parametrize(
    ("code", "name", "said"),
    [
        ("WHERE = 3", "maze", "must be a folder's path"),
        ("raise RuntimeError('broken')", "maze", "cannot be imported: RuntimeError: broken"),
        ("WHERE = '{folder}'", "labyrinth", "has the name 'maze'"),
    ],
)
def test_a_broken_plugin_says_whose_it_is_and_spoils_no_list(
    site: Path, folder: Path, code: str, name: str, said: str
) -> None:
    (site / "mazes_broken.py").write_text(code.replace("{folder}", str(folder)))
    install(site, name, "mazes_broken:WHERE")
    with pytest.raises(SpecInvalid) as caught:
        find(name)
    assert f"plug-in {name!r} (mazes_broken:WHERE, of {name}-dist)" in str(caught.value)
    assert said in str(caught.value)
    with pytest.raises(SpecInvalid):
        available()
    errors: list[SpecError] = []
    assert available(errors.append) == bundled()
    assert len(errors) == 1


def test_a_gymnasium_id_becomes_a_spec_that_passes_settings_on() -> None:
    spec = find("gymnasium:CartPole-v1")
    assert (spec.name, spec.entry_point, spec.path, spec.fork) == (
        "CartPole-v1",
        "gymnasium:make",
        None,
        False,
    )
    served = spec.resolve(
        {"sutton_barto_reward": "true", "render_mode": "rgb_array", "max_episode_steps": "9"}
    )
    assert served.config == {
        "id": "CartPole-v1",
        "disable_env_checker": True,
        "sutton_barto_reward": True,
        "render_mode": "rgb_array",
    }
    assert served.limits.max_episode_steps == 9


def test_a_spec_is_found_again_by_its_reference(folder: Path) -> None:
    assert reference(find("webshop")) == "webshop"
    assert reference(find(str(folder))) == str(folder.resolve())
    assert find(reference(find(str(folder)))) == find(str(folder))


def test_a_namespaced_gymnasium_id_has_a_name_without_slashes() -> None:
    assert find("gymnasium:some_module:Space/Thing-v1").name == "some_module.Space.Thing-v1"


def test_an_unregistered_gymnasium_id_names_the_nearest() -> None:
    with pytest.raises(SpecNotFound, match="Did you mean: `CartPole`") as caught:
        find("gymnasium:CartPol-v1")
    assert "gymnasium:MODULE:CartPol-v1" in str(caught.value)


def test_the_id_of_a_gymnasium_spec_is_fixed() -> None:
    with pytest.raises(ConfigError, match="not a choice"):
        find("gymnasium:CartPole-v1").resolve({"id": "Acrobot-v1"})

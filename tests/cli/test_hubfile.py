"""What a hub is to serve, from hub.toml and from the command line."""

from pathlib import Path

import pytest

from envhub.cli import main
from envhub.cli._hubfile import EnvConfig, HubConfig, envs_to_serve, read_hub_file
from envhub.cli.new import write_skeleton
from envhub.spec import (
    Assignment,
    ConfigError,
    EnvArgument,
    IsolationArgument,
    SettingsInvalid,
    SpecNotFound,
    find,
)

WHOLE = """
[serve]
host = "0.0.0.0"
port = 8080
token = "secret"
tokens = "keys/tokens.toml"
replicas = 2
workers = 3
isolation = "host"
build = true
store = "envs"
[[env]]
spec = "frozenlake"
replicas = 16
workers = 1
isolation = "venv"
[env.set]
test_size = 50
max_episode_steps = 5
[[env]]
spec = "echo"
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "hub.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_everything_a_hub_file_says(tmp_path: Path) -> None:
    assert read_hub_file(write(tmp_path, WHOLE)) == HubConfig(
        host="0.0.0.0",
        port=8080,
        token="secret",
        tokens=tmp_path / "keys" / "tokens.toml",
        replicas=2,
        workers=3,
        envs=(
            EnvConfig("frozenlake", 16, 1, {"test_size": 50, "max_episode_steps": 5}, "venv"),
            EnvConfig("echo"),
        ),
        isolation="host",
        build=True,
        store=tmp_path / "envs",
    )
    assert read_hub_file(write(tmp_path, "")) == HubConfig()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[serv]", "serv: unknown key (did you mean 'serve'?)"),
        ("[serve]\nprot = 1", "serve.prot: unknown key (did you mean 'port'?)"),
        ("[serve]\nport = '1'", "serve.port: must be an integer, not '1'"),
        ("[serve]\nport = 70000", "serve.port: 70000 is not 0 or more, up to 65535"),
        ("[[env]]\nreplicas = 1", "env[0].spec: missing"),
        ("[[env]]\nspec = 'echo'\nreplicas = 0", "env[0].replicas: 0 is not 1 or more"),
        (
            "[[env]]\nspec = 'echo'\n[[env]]\nspec = 'echo'\nreplica = 3",
            "env[1].replica: unknown key (did you mean",
        ),
        (
            "[serve]\nisolation = 'docker'",
            "serve.isolation: 'docker' is none of auto, conda, venv, host",
        ),
        ("[[env]]\nspec = 'echo'\nisolation = 'Conda'", "(did you mean 'conda'?)"),
        ("[serve]\nstore = ''", "serve.store: an empty name is no folder"),
        ("[serve]\nbuild = 1", "serve.build: must be"),
        ("[env]\nspec = 'echo'", "env: must be an array"),
        ("[", "not TOML"),
    ],
)
def test_a_mistake_in_a_hub_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(SettingsInvalid) as caught:
        read_hub_file(file)
    assert str(file) in str(caught.value)
    assert said in str(caught.value)


def test_a_missing_hub_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"nowhere\.toml: cannot be read"):
        read_hub_file(tmp_path / "nowhere.toml")


def test_settings_and_numbers_come_from_the_file(tmp_path: Path) -> None:
    lake, echo = envs_to_serve(read_hub_file(write(tmp_path, WHOLE)))
    assert (lake.served.spec.name, lake.replicas, lake.workers) == ("frozenlake", 16, 1)
    assert lake.served.config["test_size"] == 50
    assert lake.served.limits.max_episode_steps == 5
    assert (echo.served.spec.name, echo.replicas, echo.workers) == ("echo", 2, 3)


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    config = read_hub_file(write(tmp_path, WHOLE))
    lake, echo, pole = envs_to_serve(
        config,
        [EnvArgument("frozenlake", 4), EnvArgument("gymnasium:CartPole-v1"), EnvArgument("echo")],
        [Assignment("frozenlake", "test_size", "7"), Assignment("CartPole-v1", "render_mode", "rgb_array")],
    )
    assert (lake.replicas, lake.served.config["test_size"]) == (4, 7)
    assert echo.replicas == 2
    assert (pole.replicas, pole.served.config["render_mode"]) == (2, "rgb_array")


def test_defaults_fill_what_nothing_says() -> None:
    (echo,) = envs_to_serve(HubConfig(), [EnvArgument("echo")])
    assert (echo.replicas, echo.workers) == (1, None)
    (echo,) = envs_to_serve(HubConfig(), [EnvArgument("echo")], replicas=9, workers=2)
    assert (echo.replicas, echo.workers) == (9, 2)


def test_the_isolation_that_is_said_closest_to_the_environment_counts(tmp_path: Path) -> None:
    config = read_hub_file(write(tmp_path, WHOLE))
    parse = IsolationArgument.parse
    for arguments, wanted in (
        ((), ["venv", "host"]),
        ((parse("conda"),), ["conda", "conda"]),
        ((parse("echo=auto"), parse("conda")), ["conda", "auto"]),
        ((parse("frozenlake=host"),), ["host", "host"]),
    ):
        assert [plan.isolation for plan in envs_to_serve(config, isolations=arguments)] == wanted
    (echo,) = envs_to_serve(HubConfig(), [EnvArgument("echo")])
    assert echo.isolation == "auto", "where nothing says anything"


def test_an_isolation_that_means_nothing_is_refused() -> None:
    with pytest.raises(SettingsInvalid, match=r"--isolation 'hots': 'hots' is none of .*did you mean 'host'"):
        IsolationArgument.parse("hots")
    with pytest.raises(SettingsInvalid, match=r"no spec 'ecko' is served.*did you mean 'echo'"):
        arguments = [IsolationArgument.parse("ecko=conda")]
        envs_to_serve(HubConfig(), [EnvArgument("echo")], isolations=arguments)


@pytest.mark.parametrize("said", [("conda", "venv"), ("echo=host", "conda", "echo=conda")])
def test_isolations_that_contradict_each_other_are_refused(said: tuple[str, ...]) -> None:
    arguments = [IsolationArgument.parse(one) for one in said]
    with pytest.raises(SettingsInvalid, match=f"--isolation {said[0]} and --isolation {said[-1]} contradict"):
        envs_to_serve(HubConfig(), [EnvArgument("echo")], isolations=arguments)
    (echo,) = envs_to_serve(HubConfig(), [EnvArgument("echo")], isolations=[arguments[0], arguments[0]])
    assert echo.isolation == arguments[0].wanted


def test_what_is_built_and_where_comes_from_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ENVHUB_STORE", raising=False)
    folder = write_skeleton("maze", tmp_path)
    locked = f"[serve]\nisolation = 'conda'\nstore = 'envs'\n[[env]]\nspec = '{find('echo').path}'\n"
    for text, said in (
        (locked, f"in {tmp_path / 'envs'}; make it with"),
        (f"[serve]\nbuild = true\nisolation = 'conda'\n[[env]]\nspec = '{folder}'\n", "locks in"),
    ):
        with pytest.raises(SystemExit):
            main(["serve", "--config", str(write(tmp_path, text))])
        assert said in capsys.readouterr().err


def test_a_path_in_the_file_is_relative_to_the_file(tmp_path: Path) -> None:
    folder = write_skeleton("maze", tmp_path)
    config = read_hub_file(write(tmp_path, '[[env]]\nspec = "./maze"\n'))
    (maze,) = envs_to_serve(config)
    assert maze.served.spec.path == folder.resolve()


def test_a_spec_is_served_once() -> None:
    with pytest.raises(SettingsInvalid, match="'echo' is asked for twice"):
        envs_to_serve(HubConfig(), [EnvArgument("echo"), EnvArgument("echo", 3)])
    with pytest.raises(SettingsInvalid, match="'echo' has two"):
        envs_to_serve(HubConfig(envs=(EnvConfig("echo"), EnvConfig("echo"))))


def test_wrong_names_and_keys_are_refused() -> None:
    with pytest.raises(SpecNotFound, match="did you mean 'echo'"):
        envs_to_serve(HubConfig(), [EnvArgument("ecko")])
    with pytest.raises(ConfigError, match="did you mean 'length'"):
        envs_to_serve(HubConfig(), [EnvArgument("echo")], [Assignment("echo", "lenght", "3")])

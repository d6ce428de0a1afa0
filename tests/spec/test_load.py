"""Reading envhub.toml: what it may say, and how it is told what it may not."""

from pathlib import Path

import pytest

from envhub.spec import Channel, ConfigKey, DataFile, Limits, Spec, SpecInvalid, load, python_suits

MINIMAL = """
name = "maze"
version = "1.0.0"
summary = "A maze."
entry_point = "envhub_maze:MazeEnv"
[action]
description = "north or south"
[observation]
description = "what is seen"
"""


def write(folder: Path, text: str) -> Path:
    (folder / "envhub.toml").write_text(text, encoding="utf-8")
    return folder


def test_a_minimal_spec_gets_the_documented_defaults(tmp_path: Path) -> None:
    spec = load(write(tmp_path, MINIMAL))
    assert spec == Spec(
        name="maze",
        version="1.0.0",
        summary="A maze.",
        entry_point="envhub_maze:MazeEnv",
        path=tmp_path.resolve(),
        fork=True,
        action=Channel("north or south"),
        observation=Channel("what is seen"),
        limits=Limits(max_episode_steps=0, step_timeout_s=10.0, reset_timeout_s=30.0, load_timeout_s=60.0),
    )


def test_every_table_is_read(tmp_path: Path) -> None:
    text = MINIMAL.replace(
        'entry_point = "envhub_maze:MazeEnv"',
        'entry_point = "a.b:make"\nfork = false\nreplicas_per_worker = 4',
    ).replace(
        'description = "north or south"',
        'description = "north or south"\nspace = { type = "Text", max_length = 9 }',
    )
    text += """
[config.mode]
type = "str"
default = "easy"
choices = ["easy", "hard"]
help = "how many walls"
[config.ratio]
type = "float"
default = 1
[config.tags]
type = "list[str]"
default = ["a"]
choices = ["a", "b"]
[splits]
train = "to learn on"
test = "to be judged by"
[limits]
max_episode_steps = 5
step_timeout_s = 2
[[data]]
name = "data/walls.json"
size = 3
sha256 = "HASH"
source = "bundled"
""".replace("HASH", "0" * 64)
    spec = load(write(tmp_path, text))
    assert (spec.fork, spec.replicas_per_worker, spec.entry_point) == (False, 4, "a.b:make")
    assert spec.action.space == {"type": "Text", "max_length": 9}
    assert spec.config == {
        "mode": ConfigKey("str", "easy", ("easy", "hard"), "how many walls"),
        "ratio": ConfigKey("float", 1.0),
        "tags": ConfigKey("list[str]", ["a"], ("a", "b")),
    }
    assert list(spec.splits.items()) == [("train", "to learn on"), ("test", "to be judged by")]
    assert spec.limits == Limits(max_episode_steps=5, step_timeout_s=2.0)
    assert spec.data == (DataFile("data/walls.json", 3, "0" * 64, "bundled"),)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "maze"', 'name = "a maze"', ["name: 'a maze' must be", "letters, digits"]),
        ('name = "maze"', "name = 3", ["name: must be a string, not 3"]),
        ("version =", "versoin =", ["version: missing", "'versoin' here"]),
        ('"envhub_maze:MazeEnv"', '"envhub_maze"', ["entry_point:", '"module:Class"']),
        ("[action]", "[action]\nspcae = 1", ["action.spcae: unknown key (did you mean 'space'?)"]),
        ("[action]", "[actions]", ["action: missing", "[action]"]),
        ("[action]", "[limit]\n[action]", ["limit: unknown key (did you mean 'limits'?)"]),
        ("[action]", '[action]\nspace = {type = "Txt"}', ["action.space:", "(did you mean 'Text'?)"]),
        ("[action]", '[action]\nspace = {type = "Text"}', ["a Text space needs 'max_length'"]),
        (
            "[action]",
            '[action]\nspace = {type = "Tuple", spaces = [{type = "Discrete", m = 2}]}',
            ["a Discrete space needs 'n'"],
        ),
        ("[action]", "[limits]\nstep_timeout_s = 0\n[action]", ["limits.step_timeout_s:", "positive"]),
        ("[action]", "[limits]\nmax_episode_steps = -1\n[action]", ["limits.max_episode_steps:", "below 0"]),
        ("[action]", "[splits]\ntrain = 1\n[action]", ["splits.train: must be a string"]),
        ("[action]", "config = 1\n[action]", ["config: must be a table, not 1"]),
        ("[action]", "data = [1]\n[action]", ["data: must be an array of tables"]),
        ("[action]", "[[data]]\n[action]", ["data[0].source: missing"]),
        ("[action]", "replicas_per_worker = 0\n[action]", ["replicas_per_worker: 0 must be at least 1"]),
        ("[action]", "[action", ["not TOML"]),
    ],
)
def test_a_mistake_is_named_with_file_table_and_key(
    tmp_path: Path, old: str, new: str, said: list[str]
) -> None:
    write(tmp_path, MINIMAL.replace(old, new, 1))
    with pytest.raises(SpecInvalid) as caught:
        load(tmp_path)
    assert str(tmp_path / "envhub.toml") in str(caught.value)
    for words in said:
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            '[config.n]\ntype = "integer"\ndefault = 1',
            "config.n.type: 'integer' is no type (did you mean 'int'?)",
        ),
        ('[config.n]\ntype = "int"\ndefault = "1"', "config.n.default: '1' is a string but the type is int"),
        ('[config.n]\ntype = "int"\ndefault = true', "config.n.default: True is not an integer"),
        ('[config.n]\ntype = "int"', "config.n.default: missing"),
        ('[config.n]\ntype = "int"\ndefault = 3\nchoices = [1, 2]', "config.n.default: 3 is not a choice"),
        ('[config.step_timeout_s]\ntype = "int"\ndefault = 3', "is the name of a limit"),
        ('[config."a b"]\ntype = "int"\ndefault = 3', "must be a Python identifier"),
        (
            '[config.n]\ntype = "int"\ndefault = 3\nhlep = ""',
            "config.n.hlep: unknown key (did you mean 'help'?)",
        ),
    ],
)
def test_a_wrong_setting_declaration_is_refused(tmp_path: Path, table: str, said: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        load(write(tmp_path, MINIMAL + table))
    assert said in str(caught.value)


def test_wrong_data_entries_are_refused(tmp_path: Path) -> None:
    entry = '[[data]]\nname = "x"\nsize = {}\nsha256 = "{}"\nsource = "{}"'
    for size, digest, source, said in [
        (1, "0" * 64, "http://host/file", "data[0].source"),
        (-1, "0" * 64, "bundled", "data[0].size"),
        (1, "0" * 63, "bundled", "data[0].sha256"),
    ]:
        with pytest.raises(SpecInvalid, match="data") as caught:
            load(write(tmp_path, MINIMAL + entry.format(size, digest, source)))
        assert said in str(caught.value)


def test_a_folder_without_the_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(SpecInvalid, match="envhub new NAME"):
        load(tmp_path)


def test_a_spec_says_which_interpreters_it_runs_on(tmp_path: Path) -> None:
    assert load(write(tmp_path, MINIMAL)).requires_python == ">=3.9"
    spec = load(write(tmp_path, f'requires_python = ">=3.10,<3.13"{MINIMAL}'))
    assert spec.requires_python == ">=3.10,<3.13"
    suits = [python_suits(spec.requires_python, version) for version in ("3.9.21", "3.11.14", "3.13.0")]
    assert suits == [False, True, False]
    assert python_suits(">=3.12", "3.13.0rc2")  # whoever runs a pre-release has chosen it


@pytest.mark.parametrize("specifier", ["3.11", "python>=3.9", "", ">=three"])
def test_what_is_no_version_specifier_is_refused(tmp_path: Path, specifier: str) -> None:
    with pytest.raises(SpecInvalid, match=r"envhub\.toml: requires_python: .* write one as in \">=3\.9\""):
        load(write(tmp_path, f'requires_python = "{specifier}"{MINIMAL}'))

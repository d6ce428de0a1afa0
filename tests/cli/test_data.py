"""`envhub data`: FrozenLake's parquet files and WebShop's prepared folder."""

import json
import sys
from pathlib import Path

import pytest

from envhub.cli import main
from envhub.spec import find


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def test_frozenlake_files_hold_the_published_columns(
    tmp_path: Path, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra 'parquet' is not installed")
    out = tmp_path / "new" / "folder"
    arguments = ["--train", "10000", "--test", "100", "--map-max-size", "6", "--out", str(out), "--json"]
    assert run("data", "frozenlake", *arguments) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"split": "train", "rows": 10000, "file": str(out / "train.parquet")},
        {"split": "test", "rows": 100, "file": str(out / "test.parquet")},
    ]
    golden = json.loads((shared_data / "frozenlake" / "golden_maps.json").read_text("utf-8"))
    for split in ("train", "test"):
        table = parquet.read_table(out / f"{split}.parquet")
        assert table.schema.names == ["seed", "size", "p", "index", "uid"]
        assert [str(kind) for kind in table.schema.types] == ["int64", "int64", "double", "int64", "string"]
        expected = [{key: row[key] for key in table.schema.names} for row in golden[split]]
        assert table.slice(0, 100).to_pylist() == expected


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run("data", "frozenlake", "--out", str(tmp_path)) == 2
    assert "pip install '.[parquet]' in a clone" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow.parquet", reason="the extra 'parquet' is not installed")
    (tmp_path / "file").write_text("")
    assert run("data", "frozenlake", "--out", str(tmp_path / "file" / "x")) == 2
    assert "the folder cannot be made: Not a directory" in capsys.readouterr().err


def test_webshop_is_prepared_for_the_settings_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(find("webshop").path) + "/data"
    out = tmp_path / "my shop"
    options = ["--no-human-goals", "--seed", "3", "--num-products", "50", "--json"]
    assert run("data", "prepare", "webshop", "--from", source, "--out", str(out), *options) == 0
    printed = json.loads(capsys.readouterr().out)
    settings = {"data_dir": str(out), "seed": 3, "num_products": 50, "human_goals": "false"}
    assert set(printed) == {"folder", "settings", "products", "goals", "splits", "serve"}
    assert (printed["folder"], printed["settings"], printed["products"]) == (str(out), settings, 50)
    assert list(printed["splits"]) == ["train", "validation", "test"]
    assert sum(printed["splits"].values()) == printed["goals"] > 50
    assert printed["serve"].endswith("--set webshop.human_goals=false")
    assert run("check", "webshop", *(f"--set=webshop.{key}={value}" for key, value in settings.items())) == 0


def test_webshop_says_which_settings_serve_the_prepared_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(find("webshop").path) + "/data"
    out = tmp_path / "my shop"
    arguments = ["--from", source, "--out", str(out), "--num-products", "20", "--no-human-goals"]
    assert run("data", "prepare", "webshop", *arguments) == 0
    said, command = capsys.readouterr().out.splitlines()
    assert said.startswith(f"Wrote {out}: 20 products, ")
    assert " goals (train " in said
    assert command == (
        f"  envhub serve --env webshop --set 'webshop.data_dir={out}' --set webshop.num_products=20 "
        "--set webshop.human_goals=false"
    )


def test_a_folder_without_webshops_files_is_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("data", "prepare", "webshop", "--from", str(tmp_path), "--out", str(tmp_path / "out")) == 2
    assert "items_shuffle" in capsys.readouterr().err


def test_without_peoples_instructions_the_option_that_does_without_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("items_shuffle.json", "items_ins_v2.json"):
        (tmp_path / name).write_text("[]")
    assert run("data", "prepare", "webshop", "--from", str(tmp_path)) == 2
    assert "--no-human-goals" in capsys.readouterr().err


def test_a_graph_is_loaded_into_the_cache_that_serving_it_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    graph = tmp_path / "my graph.ttl"
    graph.write_text("<http://a/a> <http://a/p> <http://a/b> .", encoding="utf-8")
    assert run("data", "prepare", "kg", "--from", str(graph), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (tmp_path / "cache" / "envhub" / "kg") == Path(told["folder"]).parent
    assert (Path(told["folder"]) / "CURRENT").is_file() and told["digest"].startswith("sha256:")
    assert told["serve"] == f"envhub serve --env kg --set 'kg.store={graph}'"
    assert run("data", "prepare", "kg", "--from", str(graph)) == 0
    assert "kg.data_dir=QUESTIONS.json" in capsys.readouterr().out
    graph.write_text("no graph", encoding="utf-8")
    assert run("data", "prepare", "kg", "--from", str(graph)) == 2
    assert "can't be loaded" in capsys.readouterr().err

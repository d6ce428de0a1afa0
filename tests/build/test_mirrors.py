"""Mirrors: one prefix of an address for another."""

from pathlib import Path

import pytest

from envhub.build import Mirrors, MirrorsInvalid, read_mirrors
from envhub.build._mirrors import masked

FORGE = "https://conda.anaconda.org/conda-forge"


def test_an_address_goes_to_its_mirror_and_back() -> None:
    mirrors = Mirrors({"https://conda.anaconda.org/": "file:///srv/mirror"})
    there = mirrors.there(f"{FORGE}/linux-64/python-3.11.14-0.conda")
    assert there == "file:///srv/mirror/conda-forge/linux-64/python-3.11.14-0.conda"
    assert mirrors.back(there) == f"{FORGE}/linux-64/python-3.11.14-0.conda"
    assert mirrors.there(FORGE) == "file:///srv/mirror/conda-forge"


def test_a_prefix_ends_where_a_path_segment_does() -> None:
    mirrors = Mirrors({FORGE: "https://mirror.example/forge"})
    assert mirrors.there(f"{FORGE}-staging/noarch") == f"{FORGE}-staging/noarch"
    assert not mirrors.concern(f"{FORGE}-staging")
    assert mirrors.concern(FORGE) and mirrors.concern(f"{FORGE}/noarch")


def test_the_longest_prefix_counts() -> None:
    mirrors = Mirrors({"https://conda.anaconda.org": "file:///all", FORGE: "file:///forge"})
    assert mirrors.there(f"{FORGE}/noarch") == "file:///forge/noarch"
    assert mirrors.there("https://conda.anaconda.org/bioconda/noarch") == "file:///all/bioconda/noarch"


@pytest.mark.parametrize(
    ("url", "as_shown"),
    [
        ("https://me:s3cr3t@mirror.example/x", "https://***@mirror.example/x"),
        ("https://mirror.example/t/s3cr3t/x", "https://mirror.example/t/***/x"),
        ("https://mirror.example/t/s3cr3t", "https://mirror.example/t/***"),
        ("https://mirror.example/at@home", "https://mirror.example/at@home"),
        ("file:///srv/mirror", "file:///srv/mirror"),
    ],
)
def test_messages_show_no_secret(url: str, as_shown: str) -> None:
    assert masked(url) == as_shown
    assert Mirrors({FORGE: url}).shown(f"{FORGE}/noarch") == f"{as_shown}/noarch"
    assert Mirrors({FORGE: url}).without_secrets(f"no {url}/noarch here") == f"no {as_shown}/noarch here"


def test_they_are_read_from_the_users_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[mirrors]\n"{FORGE}" = "file:///forge"\n')
    monkeypatch.setenv("ENVHUB_CONFIG", str(file))
    assert read_mirrors().prefixes == {FORGE: "file:///forge"}

    monkeypatch.delenv("ENVHUB_CONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_mirrors().prefixes == {}
    home = tmp_path / ".config" / "envhub" / "config.toml"
    home.parent.mkdir(parents=True)
    home.write_text(f'[mirrors]\n"{FORGE}" = "file:///other"\n')
    assert read_mirrors().prefixes == {FORGE: "file:///other"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[mirrors]\n"conda-forge" = "file:///forge"\n', "mirrors: 'conda-forge' is no address"),
        (f'[mirrors]\n"{FORGE}" = "/srv/forge"\n', "mirrors: '/srv/forge' is no address"),
        (f'[mirrors]\n"{FORGE}" = 3\n', "must be a string"),
        ("[mirror]\n", "unknown key .did you mean 'mirrors'"),
        ("mirrors\n", "not TOML"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_files_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, complaint: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    monkeypatch.setenv("ENVHUB_CONFIG", str(file))
    with pytest.raises(MirrorsInvalid, match=complaint) as caught:
        read_mirrors()
    assert str(file) in str(caught.value)


def test_a_named_configuration_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVHUB_CONFIG", str(tmp_path / "nowhere.toml"))
    with pytest.raises(MirrorsInvalid, match=r"nowhere\.toml: cannot be read"):
        read_mirrors()

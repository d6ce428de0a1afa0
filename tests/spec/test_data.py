import hashlib
from pathlib import Path

import pytest

from envhub.spec import DataFile, DataInvalid, Spec, check_data

CONTENT = b"a catalogue"


def spec_with(folder: Path) -> Spec:
    file = DataFile("data/a.bin", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "bundled")
    return Spec("thing", "1", "", "thing:Thing", path=folder, data=(file,))


def test_declared_data_passes(tmp_path: Path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.bin").write_bytes(CONTENT)
    check_data(spec_with(tmp_path))


def test_missing_data_is_named(tmp_path: Path):
    with pytest.raises(DataInvalid, match=r"thing.*a\.bin is missing"):
        check_data(spec_with(tmp_path))


@pytest.mark.parametrize("content", [CONTENT + b"!", b"A catalogue"])
def test_changed_data_is_refused_with_both_digests(tmp_path: Path, content: bytes):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.bin").write_bytes(content)
    with pytest.raises(DataInvalid) as refused:
        check_data(spec_with(tmp_path))
    assert hashlib.sha256(content).hexdigest() in str(refused.value)
    assert hashlib.sha256(CONTENT).hexdigest() in str(refused.value)


def test_data_from_elsewhere_is_not_looked_for(tmp_path: Path):
    file = DataFile("big.bin", 10, "0" * 64, "https://example.org/big.bin")
    check_data(Spec("thing", "1", "", "thing:Thing", path=tmp_path, data=(file,)))

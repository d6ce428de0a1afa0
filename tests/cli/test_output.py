"""Tables: ids are never broken, and a pipe gets every row whole in one line."""

import pytest

from envhub.cli._output import print_table

ID = "s-0123456789abcdef01234567.12"
LONG = "an observation of many words " * 20


@pytest.fixture(params=[80, 40])
def narrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of so many columns."""
    monkeypatch.setenv("COLUMNS", str(request.param))
    monkeypatch.setenv("FORCE_COLOR", "1")


@pytest.mark.usefixtures("narrow")
def test_a_narrow_terminal_breaks_other_cells_but_no_id(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(
        ("episode", "env", "seed", "observation"), [(ID, "frozenlake", 2147483647, LONG), (ID, "", 1, "")]
    )
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(ID) for line in lines) == 2
    assert len(lines) > 3


def test_a_pipe_gets_every_row_whole_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_table(("episode", "observation", "end"), [(ID, LONG, "terminated"), (ID, "short", "")])
    _, first, second = capsys.readouterr().out.splitlines()
    assert first.split() == [ID, *LONG.split(), "terminated"]
    assert second == f"{ID}  short"

"""The bar of `envhub train`."""

import io

from rich.console import Console

from envhub.cli._bar import Bar


def test_a_terminal_has_a_bar_of_the_steps_below_what_is_said() -> None:
    out = io.StringIO()
    with Bar(Console(file=out, force_terminal=True, width=80)) as bar:
        bar.say("step 2/5  [reward] 0.5")
        bar.progress(2, 5)
        bar._bar.refresh()
    assert "step 2/5  [reward] 0.5" in out.getvalue()
    assert "2/5" in out.getvalue().rpartition("0.5")[2]


def test_a_pipe_has_the_lines_alone() -> None:
    out = io.StringIO()
    with Bar(Console(file=out, width=20)) as bar:
        bar.say("a line that is longer than the width")
        bar.progress(1, 5)
    assert out.getvalue() == "a line that is longer than the width\n"

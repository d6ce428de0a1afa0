"""Properties of the search that decides which boards are used."""

from envhub_frozenlake.maps import draw_map, is_reachable
from hypothesis import given, settings
from hypothesis import strategies as st


def board(text: str) -> list[list[str]]:
    return [list(row) for row in text.split("/")]


def test_the_search_accepts_one_move_more_than_its_depth() -> None:
    assert is_reachable(board("SFFG/HHHH/HHHH/HHHH"), 2)
    assert not is_reachable(board("SFFG/HHHH/HHHH/HHHH"), 1)


def test_the_search_leaves_out_a_board_that_it_enters_by_a_detour_first() -> None:
    # What is pushed last is taken first, so the detour over the left marks the cell above the start.
    detour = board("HHG/FFF/FSH")
    assert is_reachable(detour, 8)
    assert not is_reachable(detour, 3)  # although the goal is 3 moves away


@given(
    size=st.integers(2, 8), p=st.floats(0.3, 1.0), seed=st.integers(0, 2**32), max_steps=st.integers(2, 12)
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_every_drawn_map_is_a_square_with_one_start_and_one_reachable_goal(
    size: int, p: float, seed: int, max_steps: int
) -> None:
    rows = draw_map(size, p, seed, max_steps)
    assert [len(row) for row in rows] == [size] * size
    cells = "".join(rows)
    assert (cells.count("S"), cells.count("G")) == (1, 1)
    assert set(cells) <= set("SFHG")
    assert is_reachable(board("/".join(rows)), max_steps)
    assert rows == draw_map(size, p, seed, max_steps)

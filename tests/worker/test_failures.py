"""What is told of an exception."""

import json

from envhub.worker.failures import Failure, load_failure


class Refused(ValueError):
    envhub_code = "invalid_options"


def caught(error: Exception) -> Exception:
    try:
        raise error
    except Exception as raised:
        return raised


def test_the_words_of_a_failed_load_come_first() -> None:
    lines = load_failure(caught(KeyError("data"))).splitlines()
    assert lines[:2] == ["KeyError: 'data'", "Traceback (most recent call last):"]
    assert lines[2].strip().startswith(f'File "{__file__}"')


def test_of_a_refused_load_only_its_message_is_told() -> None:
    assert load_failure(caught(Refused("there is no folder /x"))) == "there is no folder /x"


def test_the_place_is_the_authors_line_and_not_a_librarys() -> None:
    try:
        json.loads("{")
    except ValueError as error:
        failure = Failure(error)
    assert failure.place.startswith(f"{__file__}:")
    assert failure.place.endswith("in test_the_place_is_the_authors_line_and_not_a_librarys")
    assert "json/decoder.py" in failure.trace


def test_deep_recursion_is_told_in_a_few_frames() -> None:
    def deeper() -> None:
        deeper()

    try:
        deeper()
    except RecursionError as error:
        failure = Failure(error)
    assert failure.place.endswith("in deeper")
    assert len(failure.trace.splitlines()) < 40


def test_an_earlier_exception_is_told_too() -> None:
    try:
        try:
            raise KeyError("first")
        except KeyError as first:
            raise ValueError("second") from first
    except ValueError as error:
        trace = Failure(error).trace
    assert trace.index("KeyError: 'first'") < trace.index("ValueError: second")

import pickle

import envhub_sdk


def test_the_public_names_are_sorted_and_say_where_they_are_imported_from() -> None:
    names = envhub_sdk.__all__
    assert names == sorted(names)
    for name in names:
        member = getattr(envhub_sdk, name)
        assert name == "spaces" or member.__module__ == "envhub_sdk"


def test_everything_public_that_is_imported_is_in_the_list() -> None:
    public = {name for name in vars(envhub_sdk) if not name.startswith("_")}
    assert public == set(envhub_sdk.__all__)


def test_every_public_name_has_a_docstring() -> None:
    for name in envhub_sdk.__all__:
        assert getattr(envhub_sdk, name).__doc__, name


def test_every_public_method_has_a_docstring() -> None:
    for name in ("Hub", "AsyncHub", "Env", "AsyncEnv", "VectorEnv", "Trajectory"):
        kind = getattr(envhub_sdk, name)
        for member, value in vars(kind).items():
            if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                assert value.__doc__, f"{name}.{member}"


def test_a_trajectory_can_be_pickled() -> None:
    episode = envhub_sdk.Trajectory("echo", observations=["a"], error=envhub_sdk.EpisodeError("c", "m", "T"))
    assert pickle.loads(pickle.dumps(episode)) == episode

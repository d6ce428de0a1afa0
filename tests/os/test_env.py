"""The environment as a worker calls it, on real machines."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from envhub_os import OSEnv
from envhub_os.errors import EpisodeOver, InvalidAction, InvalidOptions, SetupFailed, UnknownTask
from envhub_os.expert import Expert
from envhub_os.library import Library

Bash = Callable[[str], str]
Make = Callable[..., OSEnv]
TASK = {"task": {"id": "files-find-text-0"}}


@pytest.fixture
def make(machine: None) -> Iterator[Make]:
    """Makes an environment, and closes it in the end."""
    made: list[OSEnv] = []

    def build(**config: Any) -> OSEnv:
        made.append(OSEnv(**config))
        return made[-1]

    yield build
    for env in made:
        env.close()


@pytest.fixture
def make_task(make: Make, tmp_path: Path) -> Callable[..., OSEnv]:
    """Makes an environment with one task of AgentBench's form; it is std-001-made-00000."""

    def build(evaluation: dict[str, Any], config: dict[str, Any] | None = None, **fields: Any) -> OSEnv:
        (tmp_path / "data" / "1").mkdir(parents=True)
        entry = {"description": "Do it.", "evaluation": evaluation, **fields}
        (tmp_path / "data" / "1" / "made.json").write_text(json.dumps(entry), encoding="utf-8")
        return make(data_dir=str(tmp_path), **(config or {}))

    return build


def test_reset_tells_the_task_and_the_rules(make: Make) -> None:
    env = make()
    observation, info = env.reset(seed=3)
    assert observation == env.render()
    assert set(info) == {"task", "instruction", "rules"} and info["task"]["split"] == "train"
    assert "Act: bash" in info["rules"]
    _, again = env.reset(seed=3)
    assert again["task"] == info["task"]
    _, other = env.reset(seed=3, options={"split": "test"})
    assert other["task"]["split"] == "test"
    tools = make(actions="tools")
    _, info = tools.reset(seed=3)
    assert [tool["function"]["name"] for tool in info["tools"]] == [
        "bash_action",
        "finish_action",
        "answer_action",
    ]


def test_the_shell_is_one_and_the_same(make: Make, bash: Bash) -> None:
    env = make()
    env.reset(options=TASK)
    assert env.step(bash("pwd\nX=5; cd /tmp\nfalse"))[0] == "The output of the OS:\n\n/root\n"
    observation, reward, terminated, truncated, info = env.step(bash("echo $X in $PWD\necho error >&2"))
    assert observation == "The output of the OS:\n\n5 in /tmp\nerror\n"
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info == {
        "action": "bash",
        "exit_code": 0,
        "timed_out": False,
        "output_cut": False,
        "success": False,
    }
    assert env.step(bash("true"))[0] == "The output of the OS is empty."
    assert env.step(bash("false"))[4]["exit_code"] == 1


@pytest.mark.parametrize("text", ["x\0y", "x\ud800y", "x☂y", "x" * 90_000, "x'y", 'x"y', "x\x03y", "x\ty"])
def test_any_text_can_be_run(make: Make, bash: Bash, text: str) -> None:
    env = make()
    env.reset(options=TASK)
    env.step(bash(f"cat > /dev/null <<'END'\n{text}\nEND"))
    assert env.step(bash("echo alive"))[0] == "The output of the OS:\n\nalive\n"


def test_long_output_is_cut(make: Make, bash: Bash) -> None:
    env = make(observation_limit=100)
    env.reset(options=TASK)
    observation, _, _, _, info = env.step(bash("seq -w 1 1000 | tr -d '\\n'"))
    shown = observation.partition("\n\n")[2]
    assert shown == "".join(f"{n:04}" for n in range(1, 21)) + "\n[truncated because the output is too long]"
    assert info["output_cut"] is True


def test_a_command_that_takes_too_long_is_interrupted_and_the_session_kept(make: Make, bash: Bash) -> None:
    env = make(command_timeout_s=60.0)
    env.reset(options=TASK)
    env.step(bash("cd /tmp"))
    env._command_timeout_s = 0.5
    observation, _, terminated, _, info = env.step(bash("sleep 1000"))
    assert observation.endswith("[interrupted: it ran for more than 0.5 s]")
    assert (terminated, info["timed_out"], info["exit_code"]) == (False, True, None)
    env._command_timeout_s = 60.0
    assert env.step(bash("pwd"))[0].endswith("/tmp\n")


def test_what_else_happened_is_said(make: Make, bash: Bash) -> None:
    env = make()
    env.reset(options=TASK)
    observation = env.step(bash("read -r x"))[0]
    assert observation.endswith("[a program waits for input: what you run next is typed into it]")
    env.step(bash("typed"))
    assert env.step(bash("echo $x"))[0] == "The output of the OS:\n\ntyped\n"
    assert env.step(bash("exit"))[0].endswith("[the shell ended; a new one was started]")
    assert env.step(bash("echo ${x-none}"))[0] == "The output of the OS:\n\nnone\n"
    env = make(mode="faithful")
    env.reset(options=TASK)
    assert "[" not in env.step(bash("exit"))[0]


def test_faithful_calls_end_with_what_takes_too_long(make: Make) -> None:
    env = make(mode="faithful", actions="tools", command_timeout_s=0.5)
    env.reset(options=TASK)
    call = json.dumps({"name": "bash_action", "arguments": {"script": "sleep 1000"}})
    observation, reward, terminated, _, info = env.step(call)
    assert (observation, reward, terminated) == ("", 0.0, True)
    assert info == {"action": "bash", "status": "task_error", "success": False}


def test_an_unclear_action_is_explained_or_ends_it_as_published(make: Make) -> None:
    env = make()
    env.reset(options=TASK)
    observation, reward, terminated, _, info = env.step("hello")
    assert "Act: bash" in observation and (reward, terminated, info) == (
        0.0,
        False,
        {"action": None, "success": False},
    )
    env = make(mode="faithful")
    env.reset(options=TASK)
    observation, reward, terminated, _, info = env.step("hello")
    assert (observation, reward, terminated) == ("", 0.0, True)
    assert info == {"action": None, "status": "agent_invalid_action", "success": False}
    env = make(mode="faithful", actions="tools")
    env.reset(options=TASK)
    observation, _, terminated, _, _ = env.step("hello")
    assert (observation, terminated) == ("No executable tool calls found. Please call a tool instead", False)


def test_calls_do_the_same(make: Make) -> None:
    env = make(actions="tools")
    env.reset(options={"task": {"id": "users-who-has-number-1"}})
    number = env.render().partition("user ID ")[2].partition("?")[0]
    script = f"getent passwd {number} | cut -d: -f1"
    observation = env.step(json.dumps({"name": "bash_action", "arguments": {"script": script}}))[0]
    name = observation.partition("\n\n")[2].strip()
    call = {"function": {"name": "answer_action", "arguments": json.dumps({"answer": name})}}
    _, reward, terminated, _, info = env.step(json.dumps({"tool_calls": [call]}))
    assert (reward, terminated, info["success"]) == (1.0, True, True)


def test_nothing_goes_on_after_the_end(make: Make, bash: Bash) -> None:
    env = make()
    with pytest.raises(EpisodeOver):
        env.step(bash("ls"))
    env.reset(options=TASK)
    env.step("Act: finish")
    with pytest.raises(EpisodeOver):
        env.step(bash("ls"))


def test_what_can_not_be_done_is_refused_and_changes_nothing(make: Make, bash: Bash) -> None:
    env = make()
    env.reset(options=TASK)
    env.step(bash("X=kept"))
    refused: list[tuple[Any, type[Exception], str]] = [
        ({"task": {"id": "files-find-text-O"}}, UnknownTask, "did you mean"),
        ({"task": "files-find-text-0"}, InvalidOptions, "an object with an id"),
        ({"split": "dev"}, UnknownTask, "train, validation, test"),
        ({"tusk": 1}, InvalidOptions, "did you mean task"),
    ]
    for options, error, words in refused:
        with pytest.raises(error, match=words):
            env.reset(options=options)
    with pytest.raises(InvalidAction):
        env.step(3)  # type: ignore[arg-type]
    assert env.step(bash("echo $X"))[0].endswith("kept\n")


def test_a_setting_that_can_not_be_used_is_refused() -> None:
    with pytest.raises(InvalidOptions, match="fixed, faithful"):
        OSEnv(mode="fair")
    with pytest.raises(InvalidOptions, match="classic, tools"):
        OSEnv(actions="text")


def test_without_a_safe_sandbox_there_is_no_environment() -> None:
    with pytest.raises(InvalidOptions, match="i_know"):
        OSEnv(sandbox="none")
    with pytest.raises(InvalidOptions, match="no root file system"):
        OSEnv(rootfs="/proc")


def test_machines_without_a_program_that_tasks_need_are_refused(machine: None) -> None:
    library = Library("made", "sha256:0", [], programs=("bash", "no-such-program", "python3", "nor-this"))
    with pytest.raises(InvalidOptions, match="the machines have no no-such-program, nor-this, which"):
        OSEnv(shared=library)


def test_a_setup_that_fails_is_no_score(make_task: Callable[..., OSEnv]) -> None:
    env = make_task({"match": "x"}, create={"init": "echo reason >&2; exit 3"})
    with pytest.raises(
        SetupFailed, match=r"std-001-made-00000 .* script 1 ended with status 3: reason"
    ) as raised:
        env.reset(options={"split": "test"})
    assert raised.value.retryable
    with pytest.raises(EpisodeOver):
        env.step("Act: finish")


def test_a_setup_that_takes_too_long_is_no_score(make_task: Callable[..., OSEnv]) -> None:
    env = make_task({"match": "x"}, {"check_timeout_s": 0.5}, create={"init": "sleep 1000"})
    with pytest.raises(SetupFailed, match="script 1 took too long"):
        env.reset(options={"split": "test"})


def test_data_without_train_says_which_splits_it_has(make_task: Callable[..., OSEnv]) -> None:
    env = make_task({"match": "x"})
    with pytest.raises(InvalidOptions, match=r"there are: test \(1\)"):
        env.reset(seed=1)


def test_start_is_typed_into_the_agents_shell(make_task: Callable[..., OSEnv], bash: Bash) -> None:
    env = make_task({"match": "x"}, start="mkdir /home/u && cd /home/u")
    env.reset(options={"split": "test"})
    assert env.step(bash("pwd"))[0].endswith("\n/home/u\n")


def test_random_numbers_of_the_setup_hang_on_the_seed(make_task: Callable[..., OSEnv], bash: Bash) -> None:
    env = make_task({"match": "x"}, create={"init": "echo $RANDOM $RANDOM > /root/drawn"})
    drawn = []
    for seed in (5, 5, 6):
        env.reset(seed=seed, options={"split": "test"})
        drawn.append(env.step(bash("cat /root/drawn"))[0])
    assert drawn[0] == drawn[1] != drawn[2]


def test_each_episode_has_a_machine_of_its_own(make: Make, bash: Bash) -> None:
    env, other = make(), make()
    env.reset(options=TASK)
    other.reset(options=TASK)
    env.step(bash("echo mine > /tmp/mine; sleep 1000 &"))
    assert other.step(bash("ls /tmp; pgrep sleep"))[0] == "The output of the OS is empty."
    env.reset(options=TASK)
    assert env.step(bash("ls /tmp; pgrep sleep"))[0] == "The output of the OS is empty."


def test_files_of_a_setup_have_the_same_dates_in_each_run(make: Make, bash: Bash) -> None:
    env = make()
    seen = []
    for _ in range(2):
        env.reset(options={"task": {"id": "files-newest-0"}})
        root = env.render().split()[3].rstrip(",")
        seen.append(env.step(bash(f"find {root} -type f -printf '%T@ %m %U %p\\n' | sort"))[0])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("task", ["text-column-sum-0", "git-merge-0", "services-data-folder-0"])
@pytest.mark.parametrize("actions", ["classic", "tools"])
@pytest.mark.parametrize("served", [True, False], ids=["served", "by itself"])
def test_the_expert_wins(
    make: Make, solve: Callable[[OSEnv, str], float], actions: str, task: str, served: bool
) -> None:
    assert solve(make(actions=actions, expert=served), task) == 1.0


def test_the_expert_waits_and_says_how_to_serve_it(make: Make) -> None:
    env = make(expert=True)
    _, info = env.reset(options=TASK)
    assert env.step("hello")[4]["expert_action"] == info["expert_action"]
    assert "expert_action" not in make().reset(options=TASK)[1]
    with pytest.raises(ValueError, match=r"--set os\.expert=true"):
        Expert()("", {"task": {"id": "dev-001-dev-00000"}})


def test_data_info_names_the_data(make: Make) -> None:
    info = make().data_info()
    assert info["name"] == "embedded" and info["digest"].startswith("sha256:") and info["tasks"] > 400
    assert make(levels=[1]).data_info()["digest"] != info["digest"]

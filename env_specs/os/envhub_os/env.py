"""The OS environment: a task, a machine, a shell."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envhub_os import machine, official, own, words
from envhub_os.actions import TOOLS, Bash, Commit, read_call, read_classic
from envhub_os.errors import EpisodeOver, InvalidAction, InvalidOptions
from envhub_os.expert import Plan
from envhub_os.judge import Judge
from envhub_os.library import Library, Listing
from envhub_os.rootfs import HOST, locate
from envhub_os.sandbox import NotAtRest, Result, Sandbox, Saved, Settings
from envhub_os.task import Task

MODES = ("fixed", "faithful")
FORMS = ("classic", "tools")

_OPTIONS = ("task", "split")
_READ_BYTES = 1 << 20


class OSEnv:
    """A shell on a machine of its own, and something to find out or to do there.

    The reward is 1.0 for the action that ends the episode with the goal reached, and 0.0 otherwise. `info`
    has after each step `action` ("bash", "commit" or None) and `success`, for a command also `exit_code`,
    `timed_out` and `output_cut`, and at the end `status`, which is AgentBench's word in small letters:
    "completed", "agent_invalid_action" or "task_error".

    Args:
        shared: What `load_shared` returned; loaded here when None.
        mode: "fixed", or "faithful" to AgentBench.
        actions: "classic" text or "tools": function calls.
        data_dir: See `load_shared`.
        levels: See `load_shared`.
        train_variants: See `load_shared`.
        expert: Put the next action of the task's own solution into `info["expert_action"]`.
        observation_limit: Characters of a command's output; more is cut.
        command_timeout_s: A command that takes longer is interrupted.
        check_timeout_s: For a task's setup, and for its checks at the end.
        rootfs: The machine's root file system: a folder, or an image's tar file; "host" or empty: the
            programs of the machine it runs on. What is built the hub fills in.
        sandbox: How the machine is kept apart: "auto", or another backend of `envhub_os.sandbox`.
        i_know: Allows `sandbox="none"`, which keeps nothing apart.
        memory_mb: Memory of the machine.
        disk_mb: Space for what is written on it.
        inodes: Files that can be made on it.
        pids: Processes and threads at one time.
        cpus: Processors it may use.

    Raises:
        InvalidOptions: A setting can't be used, machines lack a program that the tasks need, or no safe
            sandbox can be made here.
        DataError: See `load_shared`.
    """

    def __init__(
        self,
        *,
        shared: Library | None = None,
        mode: str = "fixed",
        actions: str = "classic",
        data_dir: str = "",
        levels: Sequence[int] = (),
        train_variants: int = 4,
        expert: bool = False,
        observation_limit: int = 800,
        command_timeout_s: float = 30.0,
        check_timeout_s: float = 90.0,
        rootfs: str = "",
        sandbox: str = "auto",
        i_know: bool = False,
        memory_mb: int = 512,
        disk_mb: int = 128,
        inodes: int = 50_000,
        pids: int = 256,
        cpus: float = 1.0,
    ) -> None:
        for name, value, known in (("mode", mode, MODES), ("actions", actions, FORMS)):
            if value not in known:
                raise InvalidOptions(f"{name} must be one of {', '.join(known)}, not {value!r}")
        if shared is None:
            shared = self.load_shared(
                {"data_dir": data_dir, "levels": levels, "train_variants": train_variants, "rootfs": rootfs}
            )
        self._library = shared
        self._faithful = mode == "faithful"
        self._form = actions
        self._expert = expert
        self._plan: Plan | None = None
        self._limit = observation_limit
        self._command_timeout_s = command_timeout_s
        self._check_timeout_s = check_timeout_s
        self._judge = Judge(self._faithful, check_timeout_s)
        self._root = locate(rootfs)
        self._settings = Settings(
            rootfs=self._root.folder,
            backend=sandbox,
            i_know=i_know,
            memory_mb=memory_mb,
            disk_mb=disk_mb,
            inodes=inodes,
            pids=pids,
            cpus=cpus,
        )
        self._known = machine.probe(self._settings, self._library.programs, os.getpid())
        self._sandbox: Sandbox | None = None
        self._task: Task | None = None

    @classmethod
    def load_shared(cls, config: Mapping[str, Any]) -> Library:
        """Load the tasks once for all replicas.

        Args:
            config: `data_dir` (AgentBench's folder data/os_interaction, empty for the embedded tasks),
                `levels` (keep embedded tasks of these levels only, empty for all), `train_variants` (of
                each template so many tasks in the train split) and `rootfs`, of which an image is unpacked.

        Raises:
            DataError: The folder's data is missing or wrong.
            InvalidOptions: A setting can't be used.
        """
        locate(config["rootfs"])
        if config["data_dir"]:
            return official.load(Path(config["data_dir"]).expanduser())
        if config["train_variants"] < 1:
            raise InvalidOptions(f"train_variants must be at least 1, not {config['train_variants']}")
        levels = set(config["levels"]) or set(own.LEVELS)
        if not levels <= set(own.LEVELS):
            raise InvalidOptions(f"levels are of {', '.join(map(str, own.LEVELS))}, not {sorted(levels)}")
        return own.library(config["train_variants"], levels)

    def tasks(self, split: str) -> Listing:
        """Return a split's tasks, each {"id", "split", "labels"} and, of embedded ones, "level".

        Raises:
            UnknownTask: There is no such split.
        """
        return Listing(self._library.split(split))

    def data_info(self) -> dict[str, Any]:
        """Return name and digest of the data, how many tasks there are, and what the machines are made of."""
        library, root = self._library, self._root
        return {
            "name": library.name,
            "digest": library.digest,
            "tasks": len(library),
            "rootfs": str(root.folder or HOST),
            "note": root.words + self._known,
        }

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode: a new machine, made ready.

        Args:
            seed: Draws the task where none is given, and what setup scripts draw from $RANDOM.
            options: `task` (with the `id` of a task) or `split` (to draw from, "train" if none).

        Returns:
            What is to be done, and info with `task`, `instruction`, `rules` (what an agent should be told of
            its actions) and, for function calls, `tools`.

        Raises:
            UnknownTask: There is no such task or split.
            InvalidOptions: There is no such option, or the split has no task.
            SetupFailed: The machine could not be made ready.
        """
        options = options or {}
        for option in options:
            if option not in _OPTIONS:
                close = difflib.get_close_matches(str(option), _OPTIONS, n=1)
                hint = f" (did you mean {close[0]}?)" if close else ""
                raise InvalidOptions(f"there is no reset option {option!r}{hint}. Use task or split")
        if options.get("task") is not None:
            entry = self._library.find(options["task"])
        else:
            entry = self._library.draw(options.get("split") or "train", seed)
        task = entry.make()
        self.close()
        self._sandbox = Sandbox.start(self._settings)
        try:
            machine.prepare(self._sandbox, task, seed or 0, self._check_timeout_s)
        except BaseException:
            self.close()
            raise
        self._task = task
        self._plan = Plan(task, self._form) if self._expert and task.solution is not None else None
        info: dict[str, Any] = {
            "task": entry.listed(),
            "instruction": task.description,
            "rules": words.rules(self._form, self._limit),
        }
        if self._form == "tools":
            info["tools"] = TOOLS
        return task.description, self._advised(info)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Do what the text asks for.

        Raises:
            InvalidAction: The action is no text.
            EpisodeOver: There is no episode, or it is over.
        """
        if self._task is None or self._sandbox is None:
            raise EpisodeOver("there is no episode: call reset() first")
        if not isinstance(action, str):
            raise InvalidAction(f"an action is text, not {type(action).__name__}")
        read = read_classic if self._form == "classic" else read_call
        wanted = read(action, self._faithful)
        if isinstance(wanted, Bash):
            return self._run(self._sandbox, wanted.script)
        if isinstance(wanted, Commit):
            success = self._judge.reached(self._task.goal, self._sandbox, wanted.answer)
            return self._end("", "completed", success, "commit")
        if self._faithful and self._form == "classic":
            return self._end("", "agent_invalid_action", False, None)
        return wanted.reason, 0.0, False, False, self._advised({"action": None, "success": False})

    def get_state(self) -> dict[str, Any] | None:
        """Return the machine and where its task stands; None while there is more than files and a shell.

        Raises:
            SandboxError: The machine is gone.
        """
        if self._task is None or self._sandbox is None:
            return {"task": None}
        try:
            saved = self._sandbox.save()
        except NotAtRest:
            return None
        plan = None if self._plan is None else self._plan.state
        return {"task": self._task.id, "plan": plan, "machine": saved.to_json()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Make the machine that `get_state` returned, of this environment or of another one like it.

        Raises:
            SandboxError: It can't be made again here.
        """
        self.close()
        if state["task"] is None:
            return
        task = self._library.find({"id": state["task"]}).make()
        self._sandbox = Sandbox.start(self._settings, Saved.from_json(state["machine"]))
        self._task = task
        self._plan = Plan(task, self._form, state["plan"]) if state["plan"] is not None else None

    def render(self) -> str:
        """Return what is to be done, for people."""
        return self._task.description if self._task else "no episode"

    def close(self) -> None:
        """End the machine and all that runs on it."""
        sandbox, self._sandbox, self._task = self._sandbox, None, None
        if sandbox is not None:
            sandbox.close()

    def _run(self, sandbox: Sandbox, script: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        script = script.encode("utf-8", "replace").decode()  # half a surrogate pair can't be typed
        result = sandbox.run(script, timeout_s=self._command_timeout_s, limit_bytes=_READ_BYTES)
        if result.timed_out and self._faithful and self._form == "tools":  # as published: never forgiven
            return self._end("", "task_error", False, "bash")
        note = "" if self._faithful else self._note(result)
        text = words.plain(result.output)
        if self._plan is not None:
            self._plan.went_on(text)
        info = {
            "action": "bash",
            "exit_code": result.exit_code,
            "timed_out": result.timed_out,
            "output_cut": result.truncated or len(text) > self._limit,
            "success": False,
        }
        return words.output(text, self._limit, note), 0.0, False, False, self._advised(info)

    def _advised(self, info: dict[str, Any]) -> dict[str, Any]:
        """Add what the expert would do."""
        if self._plan is not None:
            info["expert_action"] = self._plan.action
        return info

    def _note(self, result: Result) -> str:
        """Return what else there is to say of a command."""
        if result.new_shell:
            return "[the shell ended; a new one was started]"
        if result.timed_out:
            return f"[interrupted: it ran for more than {self._command_timeout_s:g} s]"
        if result.exit_code is None:
            return "[a program waits for input: what you run next is typed into it]"
        return ""

    def _end(
        self, observation: str, status: str, success: bool, action: str | None
    ) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.close()
        info = {"action": action, "status": status, "success": success}
        return observation, float(success), True, False, info

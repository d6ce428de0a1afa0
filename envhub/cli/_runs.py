"""What `envhub collect` and `envhub eval` share: options, who plays, the progress bar."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from envhub.cli import INTERRUPTED, CommandError, install
from envhub.cli._output import console, errors, print_table

if TYPE_CHECKING:
    from envhub_trainers._conversations import Style
    from envhub_trainers._policies import Player
    from envhub_trainers.collect import Collected, Plan
    from envhub_trainers.evaluate import Evaluation

ENDING_S = 2.0
"""How long what was interrupted may take to end before another signal ends it at once."""
SILENCE_S = 10.0
"""Seconds between two messages about a hub that is waited for."""

Out = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="DIR", help="The run's folder; one that is there is gone on with."),
]
Env = Annotated[str, typer.Option("--env", metavar="NAME", help="The environment, as the hub serves it.")]
Policy = Annotated[
    str | None,
    typer.Option(
        "--policy", metavar="NAME", help="expert, or a function or class: module:name or file.py:name."
    ),
]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint", metavar="URL", help="An OpenAI-compatible endpoint, up to and with /v1; needs --model."
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The model's name at the endpoint; without one, a folder."),
]
RandomMoves = Annotated[
    float | None,
    typer.Option(
        "--random-moves",
        metavar="SHARE",
        min=0,
        max=1,
        help="The share of random moves (FrozenLake's expert).",
    ),
]
Split = Annotated[str | None, typer.Option("--split", metavar="NAME", help="Whose tasks to play.")]
Offset = Annotated[int, typer.Option("--offset", min=0, help="How many of its tasks to leave out.")]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="How many tasks to play; all of the split by default.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of the first task; the next one has one more.")]
MaxSteps = Annotated[
    int | None,
    typer.Option("--max-steps", min=1, help="Cut episodes short; by default only the environment does."),
]
Concurrency = Annotated[int, typer.Option("--concurrency", min=1, help="Episodes at a time.")]
Retries = Annotated[
    int, typer.Option("--retries", min=0, help="How often to play an episode again that a fault ended.")
]
MaxLost = Annotated[
    int, typer.Option("--max-lost", min=0, help="Stop when more episodes than this are lost to faults.")
]
Prompt = Annotated[
    str,
    typer.Option("--prompt", metavar="NAME", help="What a model is told: auto, generic, bare, module:Class."),
]
Form = Annotated[
    str | None,
    typer.Option(
        "--form", metavar="NAME", help="How it writes actions: raw, react, fenced, json, module:function."
    ),
]
Temperature = Annotated[float | None, typer.Option("--temperature", min=0, help="Of a model's sampling.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Of one answer of a model.")]
AnswerTimeout = Annotated[
    float, typer.Option("--answer-timeout", metavar="SECONDS", min=0.1, help="For one answer of an endpoint.")
]


@dataclass(frozen=True, slots=True)
class Choice:
    """Who is to play, as the command line says."""

    policy: str | None
    endpoint: str | None
    model: str | None
    random_moves: float | None
    prompt: str
    form: str | None
    temperature: float | None
    max_tokens: int | None
    answer_timeout_s: float

    def check(self) -> None:
        """Refuse what goes not together.

        Raises:
            CommandError: Nobody plays, or two do.
        """
        if self.endpoint is not None and self.model is None:
            raise CommandError("--endpoint needs --model: the model's name there")
        if (self.policy is None) == (self.model is None):
            raise CommandError(
                "say who plays, in one way: --policy expert, --policy file.py:function, --endpoint URL "
                "--model NAME, or --model FOLDER"
            )
        if self.policy is None and self.random_moves is not None:
            raise CommandError("--random-moves is for a --policy that takes it")

    @contextlib.asynccontextmanager
    async def player(self, env: str, style: Style) -> AsyncIterator[Player]:
        """Give who plays.

        Raises:
            NoSuchPolicy: The policy can't be had.
            CommandError: A library is missing.
        """
        if self.policy is not None:
            from envhub_trainers import _policies

            yield _policies.load(self.policy, env, self.random_moves)
            return
        assert self.model is not None  # `check` saw to it
        if self.endpoint is None:
            from envhub_trainers import _local

            yield _local.player(Path(self.model), style, self.temperature, self.max_tokens)
            return
        from envhub_trainers import _talking
        from envhub_trainers._endpoint import ChatEndpoint

        sampling: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        endpoint = ChatEndpoint(
            self.endpoint,
            self.model,
            key=os.environ.get("OPENAI_API_KEY"),
            sampling={name: value for name, value in sampling.items() if value is not None},
            timeout_s=self.answer_timeout_s,
        )
        try:
            yield _talking.player(endpoint, style)
        finally:
            await endpoint.close()


@dataclass(frozen=True, slots=True)
class Played:
    """A run that was played, as far as it could be."""

    collected: Collected
    style: Style


def play(hub: str | None, token: str | None, env: str, plan: Plan, choice: Choice, out: Path) -> Played:
    """Play what is planned, with a progress bar.

    Raises:
        CommandError: It can't be played.
        typer.Exit: It was interrupted, by Ctrl-C or SIGTERM, and what was played is kept; or there is no
            episode at all.
    """
    choice.check()
    interruption, played = _Interruption(), None
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError), _quiet_sdk(), interruption:
        played = asyncio.run(_play(hub, token, env, plan, choice, out, interruption))
    if played is None or interruption.status is not None:
        errors.print(f"interrupted: what was played is in {out}; the same command goes on", markup=False)
        raise typer.Exit(interruption.status or INTERRUPTED)
    if not played.collected.done:
        end(played.collected)
    return played


async def _play(
    url: str | None,
    token: str | None,
    env: str,
    plan: Plan,
    choice: Choice,
    out: Path,
    interruption: _Interruption,
) -> Played:
    interruption.playing = asyncio.current_task()
    from envhub_sdk import AsyncHub, EnvHubError
    from envhub_trainers._conversations import Style
    from envhub_trainers._hooks import HookNotFound
    from envhub_trainers._policies import NoSuchPolicy
    from envhub_trainers.collect import RunInvalid, Stopped, collect

    try:
        async with AsyncHub(url, token=token) as hub:
            served = await hub.env(env)
            style = Style(served, choice.prompt, choice.form, plan.max_steps)
            async with choice.player(env, style) as player:
                with _Bar() as bar:
                    collected = await collect(hub, served, plan, player, out, bar)
            return Played(collected, style)
    except ModuleNotFoundError as missing:
        extra = "eval" if missing.name == "tenacity" else "train-cpu"
        raise CommandError(f"{missing.name} is not installed: {install(extra)}") from None
    except (EnvHubError, HookNotFound, NoSuchPolicy, RunInvalid, Stopped, ValueError) as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"can't write into {out}: {error.strerror or error}") from None


class _Interruption:
    """What Ctrl-C and SIGTERM do while it lasts: they cancel the playing, which closes its sessions.

    Again after `ENDING_S`, they end the process at once. (asyncio's own way with a second Ctrl-C is to raise
    wherever the event loop is, which may lose an answer that the ending then waits for.)

    Attributes:
        playing: What to cancel.
        status: The exit status to end with, if a signal came.
    """

    playing: asyncio.Task[Any] | None = None
    status: int | None = None

    def __enter__(self) -> None:
        heard = (one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) != signal.SIG_IGN)
        self._before = {one: signal.signal(one, self._told) for one in heard}

    def __exit__(self, *_: object) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)

    def _told(self, number: int, frame: object) -> None:
        if self.status is None:
            self.status, self._since = 128 + number, time.monotonic()
            if self.playing is None:
                raise KeyboardInterrupt
            with contextlib.suppress(RuntimeError):  # its loop was closed just now
                self.playing.get_loop().call_soon_threadsafe(self.playing.cancel)
        elif time.monotonic() - self._since > ENDING_S:
            errors.show_cursor()
            os._exit(self.status)


class _Waiting(logging.Handler):
    """Says now and then what the SDK waits for, instead of each time it asks again."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._silent_until = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message, unless one was printed lately."""
        if record.created >= self._silent_until:
            self._silent_until = record.created + SILENCE_S
            errors.print(f"waiting for the hub: {record.getMessage()}", markup=False)


@contextlib.contextmanager
def _quiet_sdk() -> Iterator[None]:
    log, handler = logging.getLogger("envhub_sdk"), _Waiting()
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = True


class _Bar:
    """A progress bar where there is a terminal."""

    def __init__(self) -> None:
        columns = (
            TextColumn("Playing"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[said]}"),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal)
        self._task: TaskID = self._progress.add_task("", total=None, said="")

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, collected: Collected, _: object) -> None:
        rate = f"success {collected.successes / collected.played:.0%}" if collected.played else ""
        faults = f", {collected.faults.total()} faults" if collected.faults else ""
        self._progress.update(
            self._task, total=collected.total, completed=collected.done, said=f"{rate}{faults}"
        )


def summary(found: Evaluation) -> dict[str, Any]:
    """What a run brought, in numbers, for programs."""
    return {
        **dataclasses.asdict(found.total),
        "faults": found.faults,
        "failures": found.failures,
        "retried": found.retried,
        "lost": len(found.lost),
    }


def print_summary(found: Evaluation) -> None:
    """Print what a run brought, for people."""
    from envhub_trainers import _report

    print_table(_report.GROUP_COLUMNS, _report.group_rows(found))
    console.print("\n".join(_report.remarks(found)), markup=False)


def end(collected: Collected) -> None:
    """End with 1 where episodes are missing, and say which and what to do."""
    missing = collected.total - collected.done
    if not missing:
        return
    why = f"; the last fault: {collected.last_fault}" if collected.last_fault else ""
    errors.print(
        f"{missing} of {collected.total} episodes are missing, lost to faults or not begun because of "
        f"them{why}. The same command tries them again",
        style="yellow",
        markup=False,
    )
    raise typer.Exit(1)

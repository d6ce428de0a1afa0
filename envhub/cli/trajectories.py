"""`envhub trajectories`: the episodes that a hub recorded."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.progress import Progress

from envhub.cli import CommandError, install
from envhub.cli._output import AsJson, console, errors, print_json, print_table
from envhub.record import Reading, RecordedEpisode
from envhub.spec import counted, runtime_words

trajectories = typer.Typer(no_args_is_help=True, help="Look at the episodes that a hub recorded.")

FolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="A record's folder, a file of it, or episodes in JSON lines.")
]
Env = Annotated[str | None, typer.Option("--env", metavar="NAME", help="Only of this environment.")]
Split = Annotated[str | None, typer.Option("--split", metavar="NAME", help="Only of tasks of this split.")]
Success = Annotated[
    bool | None, typer.Option("--success/--failure", help="Only those that ended and succeeded, or did not.")
]
MinReturn = Annotated[
    float | None, typer.Option("--min-return", metavar="X", help="Only with a return of at least this.")
]

PARQUET_ROWS = 256
"""Episodes of an export that are held in memory at a time."""
SHOWN = 160
"""Characters of an observation in a table on a terminal."""


class Format(StrEnum):
    """What an export is written as."""

    jsonl = "jsonl"
    parquet = "parquet"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which episodes are wanted; None wants all."""

    env: str | None = None
    split: str | None = None
    success: bool | None = None
    min_return: float | None = None

    def takes(self, episode: RecordedEpisode) -> bool:
        """Whether an episode is wanted."""
        return (
            self.env in (None, episode.started.env)
            and (self.split is None or episode.split == self.split)
            and (self.success is None or (episode.success == self.success and episode.finished))
            and (self.min_return is None or episode.total_reward >= self.min_return)
        )


@trajectories.command("list")
def list_episodes(
    folder: FolderArgument,
    env: Env = None,
    split: Split = None,
    success: Success = None,
    min_return: MinReturn = None,
    as_json: AsJson = False,
) -> None:
    """List the episodes; those that still go on come last."""
    wanted = Filter(env, split, success, min_return)
    summaries = [_summary(episode) for episode in read(folder, wanted)]
    if as_json:
        print_json(summaries)
        return
    for name in dict.fromkeys(one["env"] for one in summaries):
        rows = [
            (
                one["episode"],
                one["task"] or "",
                one["seed"],
                one["steps"],
                f"{one['total_reward']:g}",
                one["error"] or one["outcome"],
            )
            for one in summaries
            if one["env"] == name
        ]
        print_table(("episode", "task", "seed", "steps", "return", "outcome"), rows, name)


@trajectories.command()
def show(
    folder: FolderArgument,
    episode: Annotated[str, typer.Argument(metavar="EPISODE", help="Its id, as `list` prints it.")],
    as_json: AsJson = False,
) -> None:
    """Show one episode, step by step."""
    found = next((one for one in read(folder, Filter()) if one.id == episode), None)
    if found is None:
        raise CommandError(f"no episode {episode!r} in {folder}: see `envhub trajectories list {folder}`")
    if as_json:
        print_json(found.export())
        return
    started = found.started
    console.print(f"[bold]{started.episode}[/] of [bold]{started.env}[/] {started.env_version}")
    console.print(
        f"seed {started.seed}, task {found.task_id or 'none'}, data {started.data_digest}", markup=False
    )
    console.print(f"ran in {runtime_words(started.isolation, started.lock_digest)}", markup=False)
    console.print(f"return {found.total_reward:g}, {found.outcome}", markup=False)
    if found.error is not None:
        console.print(f"{found.error[0]}: {found.error[1]}", markup=False)
    rows: list[tuple[str, str, str, str, str]] = [("reset", "", "", "", _short(found.first[0]))]
    for step in found.steps:
        end = "terminated" if step.terminated else "truncated" if step.truncated else ""
        action, observation = _short(step.action), _short(step.observation)
        rows.append((str(step.step_index), action, f"{step.reward:g}", end, observation))
    print_table(("step", "action", "reward", "", "observation"), rows)


@trajectories.command()
def stats(
    folder: FolderArgument,
    env: Env = None,
    split: Split = None,
    success: Success = None,
    min_return: MinReturn = None,
    as_json: AsJson = False,
) -> None:
    """Count: episodes, steps, returns, successes and times of each environment."""
    tallies: dict[str, _Tally] = {}
    for episode in read(folder, Filter(env, split, success, min_return)):
        tallies.setdefault(episode.started.env, _Tally()).add(episode)
    facts = {name: tally.facts() for name, tally in sorted(tallies.items())}
    if as_json:
        print_json(facts)
        return
    for name, said in facts.items():
        rows = [(key.replace("_", " "), _plain(value)) for key, value in said.items()]
        print_table((), rows, name)


@trajectories.command()
def export(
    folder: FolderArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")],
    format: Annotated[Format, typer.Option(help="One JSON object a line, or a table.")] = Format.jsonl,
    env: Env = None,
    split: Split = None,
    success: Success = None,
    min_return: MinReturn = None,
    as_json: AsJson = False,
) -> None:
    """Write the episodes into one file, one line or row an episode."""
    episodes = read(folder, Filter(env, split, success, min_return))
    unfinished = output.with_name(output.name + ".part")
    try:
        write = _write_jsonl if format is Format.jsonl else _write_parquet
        count = write(unfinished, episodes)
        unfinished.replace(output)
    except OSError as error:
        raise CommandError(f"can't write {output}: {error.strerror}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    if as_json:
        print_json({"file": str(output), "episodes": count, "bytes": os.stat(output).st_size})
    else:
        console.print(f"{counted(count, 'episode')} in {output}", markup=False)


def read(folder: Path, wanted: Filter) -> Iterator[RecordedEpisode]:
    """The wanted episodes of a record, with a progress bar.

    Raises:
        CommandError: There is no record, or there are episodes of other environments only.
    """
    with _progress() as told:
        try:
            reading = Reading(folder, told)
        except FileNotFoundError as missing:
            raise CommandError(str(missing)) from None
        told.total(reading.total_bytes)
        envs = set()
        for episode in reading.episodes():
            envs.add(episode.started.env)
            if wanted.takes(episode):
                yield episode
    if wanted.env is not None and envs and wanted.env not in envs:
        raise CommandError(
            f"no environment {wanted.env!r} in {folder}: it has episodes of {', '.join(sorted(envs))}"
        )
    if reading.damaged or reading.headless:
        damaged, headless = counted(reading.damaged, "damaged line"), counted(reading.headless, "step")
        errors.print(
            f"left out: {damaged}, and {headless} of episodes whose beginning is no longer there",
            markup=False,
        )


class _Told:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("Reading", total=None)

    def total(self, size: int) -> None:
        self._progress.update(self._task, total=size)

    def __call__(self, done: int) -> None:
        self._progress.update(self._task, completed=done)


@contextlib.contextmanager
def _progress() -> Iterator[_Told]:
    with Progress(console=errors, transient=True, disable=not errors.is_terminal) as progress:
        yield _Told(progress)


def _summary(episode: RecordedEpisode) -> dict[str, Any]:
    return {
        "episode": episode.id,
        "env": episode.started.env,
        "env_version": episode.started.env_version,
        "task": episode.task_id,
        "split": episode.split,
        "seed": episode.started.seed,
        "steps": len(episode.steps),
        "total_reward": episode.total_reward,
        "success": episode.success,
        "outcome": episode.outcome,
        "complete": episode.whole,
        "error": None if episode.error is None else episode.error[0],
        "started_at": episode.started.time_us / 1e6,
        "labels": episode.started.labels,
    }


@dataclass(slots=True)
class _Tally:
    outcomes: dict[str, int] = field(default_factory=dict)
    returns: list[float] = field(default_factory=list)
    """Of those that ended, as the lengths."""
    lengths: list[int] = field(default_factory=list)
    steps: int = 0
    step_us: list[int] = field(default_factory=list)
    successes: int = 0

    def add(self, episode: RecordedEpisode) -> None:
        self.outcomes[episode.outcome] = self.outcomes.get(episode.outcome, 0) + 1
        own = episode.steps[episode.started.inherited :]
        self.steps += len(own)
        self.step_us += [step.step_us for step in own]
        if episode.finished:
            self.returns.append(episode.total_reward)
            self.lengths.append(len(episode.steps))
            self.successes += episode.success

    def facts(self) -> dict[str, Any]:
        """What is printed.

        Steps that a fork took over from another episode count once. Rates, lengths and returns are those of
        the episodes that ended; null where none did.
        """
        ended, times = len(self.returns), sorted(self.step_us)
        return {
            "episodes": sum(self.outcomes.values()),
            **self.outcomes,
            "success_rate": self.successes / ended if ended else None,
            "steps": self.steps,
            "mean_length": sum(self.lengths) / ended if ended else None,
            "mean_return": sum(self.returns) / ended if ended else None,
            "least_return": min(self.returns, default=None),
            "greatest_return": max(self.returns, default=None),
            "median_step_ms": times[len(times) // 2] / 1000 if times else None,
            "p95_step_ms": times[len(times) * 95 // 100] / 1000 if times else None,
        }


def _write_jsonl(file: Path, episodes: Iterator[RecordedEpisode]) -> int:
    count = 0
    with file.open("wb") as lines:
        for count, episode in enumerate(episodes, 1):  # noqa: B007  the last number is the count
            lines.write(msgspec.json.encode(episode.export()) + b"\n")
    return count


def _write_parquet(file: Path, episodes: Iterator[RecordedEpisode]) -> int:
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise CommandError(f"parquet needs pyarrow, which is not installed: {install('parquet')}") from None
    schema = _schema(pyarrow)
    count = 0
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        rows: list[dict[str, Any]] = []
        for episode in episodes:
            rows.append(_row(episode))
            count += 1
            if len(rows) == PARQUET_ROWS:
                writer.write_table(pyarrow.Table.from_pylist(rows, schema))
                rows = []
        writer.write_table(pyarrow.Table.from_pylist(rows, schema))
    return count


def _schema(pyarrow: Any) -> Any:
    """The columns: what differs between environments is JSON text."""
    text, number, whole, truth = pyarrow.string(), pyarrow.float64(), pyarrow.int64(), pyarrow.bool_()
    texts, numbers = pyarrow.list_(text), pyarrow.list_(number)
    columns = {
        **dict.fromkeys(("env", "env_version", "isolation", "lock_digest", "data_digest"), text),
        **dict.fromkeys(("session", "episode"), text),
        **dict.fromkeys(("outcome", "error", "config", "limits", "labels", "task", "options"), text),
        **dict.fromkeys(("seed", "inherited"), whole),
        **dict.fromkeys(("started_at", "reset_s", "total_reward"), number),
        **dict.fromkeys(("success", "terminated", "truncated", "complete", "conda_locked"), truth),
        **dict.fromkeys(("observations", "actions", "infos"), texts),
        **dict.fromkeys(("rewards", "step_s"), numbers),
    }
    return pyarrow.schema(list(columns.items()))


def _row(episode: RecordedEpisode) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.structs.asdict(episode.export())
    del row["asked_task"]
    for name in ("config", "limits", "labels"):
        row[name] = msgspec.json.encode(row[name]).decode()
    for name in ("task", "options"):
        row[name] = bytes(row[name]).decode()
    for name in ("observations", "actions", "infos"):
        row[name] = [bytes(one).decode() for one in row[name]]
    return row


def _short(raw: msgspec.Raw) -> str:
    value = msgspec.json.decode(raw)
    text = value if isinstance(value, str) else bytes(raw).decode()
    text = " ".join(text.split())
    return text if len(text) <= SHOWN or not console.is_terminal else text[: SHOWN - 1] + "…"


def _plain(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

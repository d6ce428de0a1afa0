"""`envhub replay`: does an environment still do what it did when episodes were recorded?"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.progress import Progress

from envhub.cli import CommandError
from envhub.cli._options import StoreOption
from envhub.cli._output import AsJson, console, errors, print_json, print_table
from envhub.record import Reading, RecordedEpisode, Started, read_exported
from envhub.spec import Runtime, ServedSpec, Spec, counted, find, reference, runtime_words

if TYPE_CHECKING:
    from envhub.build import Store
    from envhub.pool import Pool, Replica
    from envhub.session import Divergence

_Group = tuple[str, str, str, str, str | None]
"""Environment, settings, limits, isolation, lock."""
AT_ONCE = 16
"""Episodes of one environment that are played at the same time."""
BACK_S = 60.0
"""How long to wait for the next process of an environment where one has died."""

Outcome = Literal["same", "different", "not compared"]


@dataclass(slots=True)
class Verdict:
    """What became of one episode."""

    episode: str
    env: str
    outcome: Outcome
    steps: int
    step_index: int | None = None
    """Where it first differed; -1 is the reset."""
    recorded: str | None = None
    replayed: str | None = None
    reason: str | None = None
    """Why it was not compared."""


@dataclass(slots=True)
class _Report:
    verdicts: list[Verdict] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def replay(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A record's folder or file, or an export in JSON lines.")
    ],
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="SPEC", help="Where an environment is that is not found by its name."),
    ] = None,
    infos: Annotated[
        bool, typer.Option("--infos", help="Compare infos, too; they may hold times and differ rightly.")
    ] = False,
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Play recorded episodes again and report where each differs first; 1 when one differs.

    Each is played in what it was recorded in: the environment built from the same lock, or the hub's own.
    """
    from envhub.build import Store

    specs = {spec.name: spec for spec in map(find, env or [])}
    report = asyncio.run(_run(path, specs, Store(store), infos))
    differing = [one for one in report.verdicts if one.outcome == "different"]
    skipped = [one for one in report.verdicts if one.outcome == "not compared"]
    if as_json:
        print_json({"warnings": report.warnings, "episodes": report.verdicts})
    else:
        _print_report(report, differing, skipped)
    if differing or skipped or not report.verdicts:
        raise typer.Exit(1)


def _print_report(report: _Report, differing: list[Verdict], skipped: list[Verdict]) -> None:
    for warning in report.warnings:
        errors.print(warning, style="yellow", markup=False)
    if differing:
        rows = [
            (one.episode, "reset" if one.step_index == -1 else one.step_index, one.recorded, one.replayed)
            for one in differing
        ]
        print_table(("episode", "step", "recorded", "replayed"), rows)
    for reason in sorted({one.reason or "" for one in skipped}):
        count = sum(one.reason == reason for one in skipped)
        errors.print(f"{counted(count, 'episode')} not compared: {reason}", style="yellow", markup=False)
    same = len(report.verdicts) - len(differing) - len(skipped)
    console.print(
        f"{counted(same, 'episode')} the same, {len(differing)} different, {len(skipped)} not compared",
        style="bold",
    )


async def _run(path: Path, specs: dict[str, Spec], store: Store, infos: bool) -> _Report:
    from envhub.cli._runtimes import holding

    report = _Report()
    with Progress(console=errors, transient=True, disable=not errors.is_terminal) as progress:
        groups = _groups(path, progress)
        task = progress.add_task("Replaying", total=sum(count for _, count in groups.values()))
        for group, (first, count) in groups.items():
            env, config, limits, *_ = group
            episodes = (episode for episode in _episodes(path) if _group_of(episode) == group)
            spec = specs.get(env) or find(env)
            served = spec.resolve({**json.loads(config), **json.loads(limits)})
            try:
                served = _as_recorded(served, first, store)
            except _Refused as refused:
                report.verdicts += [_not_compared(episode, str(refused)) for episode in episodes]
                progress.advance(task, count)
                continue
            with holding(served, store):
                await _replay_all(served, episodes, count, report, infos, lambda: progress.advance(task))
    return report


def _as_recorded(served: ServedSpec, started: Started, store: Store) -> ServedSpec:
    """Have an environment run in what its episodes were recorded in.

    What was built from a lock is still that when the spec has been locked again.

    Raises:
        _Refused: Nothing is built here from the lock of then, or the host lacks what the spec asks for.
    """
    from envhub.build import BuildError
    from envhub.cli._runtimes import with_runtime

    spec, isolation, digest = served.spec, started.isolation, started.lock_digest
    if isolation != "host" and digest is not None:
        built = store.find(digest, isolation)
        if built is None:
            raise _Refused(
                f"{spec.name} was recorded in {runtime_words(isolation, digest)}, which is not built in "
                f"{store.root}; {_how_to_build(spec, isolation, digest, store)}"
            )
        return dataclasses.replace(served, runtime=Runtime(isolation, built.python, digest))
    try:
        return with_runtime(served, "host", store)
    except BuildError as reason:
        raise _Refused(str(reason)) from reason


def _how_to_build(spec: Spec, isolation: Literal["conda", "venv"], digest: str, store: Store) -> str:
    """Say how to have again what episodes were recorded in."""
    from envhub.build import BuildError, read_lock

    command = store.command("build", reference(spec), "--isolation", isolation)
    try:
        present = read_lock(spec).digest_for(isolation)
    except BuildError as reason:
        return f"restore the locks it had then and run: {command} (those it has now: {reason})"
    if present == digest:
        return f"build it with: {command}"
    return f"its lock is {present} by now: restore the locks it had then and run: {command}"


def _groups(path: Path, progress: Progress) -> dict[_Group, tuple[Started, int]]:
    """The environments, settings, limits and locks: each needs a pool of its own.

    With the first episode of each, and how many it has.
    """
    task = progress.add_task("Reading", total=None)
    groups: dict[_Group, tuple[Started, int]] = {}
    for episode in _episodes(path, lambda done: progress.update(task, completed=done)):
        group = _group_of(episode)
        first, count = groups.get(group, (episode.started, 0))
        groups[group] = first, count + 1
    progress.remove_task(task)
    return groups


def _group_of(episode: RecordedEpisode) -> _Group:
    started = episode.started
    settings = json.dumps(started.config), json.dumps(started.limits)
    return (started.env, *settings, started.isolation, started.lock_digest)


def _episodes(path: Path, progress: Callable[[int], object] | None = None) -> Iterator[RecordedEpisode]:
    """Reads whatever the path is, episode by episode: a record may be larger than memory.

    Raises:
        CommandError: It is neither a record nor an export.
    """
    try:
        if path.is_file() and not _is_log(path):
            yield from read_exported(path)
        else:
            yield from Reading(path, progress).episodes()
    except (FileNotFoundError, ValueError) as reason:
        raise CommandError(str(reason)) from None


def _is_log(file: Path) -> bool:
    with file.open("rb") as lines:
        return lines.readline().startswith(b'{"event":')


class _Refused(Exception):
    """The episodes of a group can't be compared, and why."""


def _not_compared(episode: RecordedEpisode, reason: str) -> Verdict:
    return Verdict(episode.id, episode.started.env, "not compared", len(episode.steps), reason=reason)


async def _replay_all(
    served: ServedSpec,
    episodes: Iterable[RecordedEpisode],
    count: int,
    report: _Report,
    infos: bool,
    tick: Callable[[], None],
) -> None:
    from envhub.pool import LoadFailed, Pool

    pool = Pool(served, min(AT_ONCE, count))
    try:
        await pool.start()
    except LoadFailed as failure:
        raise CommandError(str(failure)) from None
    try:
        line = _comparable(pool, served, episodes, report, tick)
        replicas = await pool.acquire(min(AT_ONCE, count), 0)
        await asyncio.gather(*(_replay_some(replica, line, report, infos, tick) for replica in replicas))
        for left in line:
            report.verdicts.append(_not_compared(left, "the environment's processes die and don't come back"))
            tick()
    finally:
        await pool.stop()


def _comparable(
    pool: Pool,
    served: ServedSpec,
    episodes: Iterable[RecordedEpisode],
    report: _Report,
    tick: Callable[[], None],
) -> Iterator[RecordedEpisode]:
    """Those that can be compared with what the pool plays; a verdict is given of the others."""
    name, version = served.spec.name, served.spec.version
    data = (pool.description.get("data") or {}).get("digest")
    for episode in episodes:
        started = episode.started
        reason = None
        if started.data_digest != data:
            reason = f"{name} was recorded on other data ({started.data_digest}; here it has {data})"
        elif not episode.whole:
            reason = "steps are missing from the record"
        if reason is not None:
            report.verdicts.append(_not_compared(episode, reason))
            tick()
            continue
        if started.env_version != version:
            warning = f"{name} was recorded with version {started.env_version}; this is {version}"
            if warning not in report.warnings:
                report.warnings.append(warning)
        yield episode


class _Died(Exception):
    """The process of the environment that replays died."""


async def _replay_some(
    replica: Replica,
    line: Iterator[RecordedEpisode],
    report: _Report,
    infos: bool,
    tick: Callable[[], None],
) -> None:
    """Plays episodes one after the other until none is left."""
    from envhub.session import Replay

    for recorded in line:
        done: asyncio.Future[Divergence | None] = asyncio.get_running_loop().create_future()
        back = asyncio.Event()
        replica.on_lost = lambda done=done: None if done.done() else done.set_exception(_Died())
        replica.on_back = back.set
        Replay(replica, _to_play(recorded), done.set_result, infos).start()
        verdict = Verdict(recorded.id, recorded.started.env, "same", len(recorded.steps))
        try:
            divergence = await done
        except _Died:
            verdict.outcome, verdict.reason = "not compared", "the environment's process died in its replay"
            report.verdicts.append(verdict)
            tick()
            try:
                async with asyncio.timeout(BACK_S):
                    await back.wait()
            except TimeoutError:
                return
            continue
        if divergence is not None:
            verdict.outcome, verdict.step_index = "different", divergence.step_index
            verdict.recorded, verdict.replayed = divergence.recorded, divergence.replayed
        report.verdicts.append(verdict)
        tick()


def _to_play(recorded: RecordedEpisode) -> Any:
    from envhub.session import Episode

    episode = Episode.from_event(recorded.started, kept=None)
    for step in recorded.steps:
        answer = (
            b'{"observation":%b,"reward":%b,"terminated":%b,"truncated":%b,"info":%b,"step_index":%d}'
            % (
                bytes(step.observation),
                json.dumps(step.reward).encode(),
                json.dumps(step.terminated).encode(),
                json.dumps(step.truncated).encode(),
                bytes(step.info),
                step.step_index,
            )
        )
        episode.keep(bytes(step.action), answer, 0)
    return episode

"""`envhub collect`: episodes of a policy, as trajectories and as conversations to train on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from envhub.cli import _runs
from envhub.cli._output import AsJson, console, errors, print_json
from envhub.cli.sessions import HubToken, HubUrl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from envhub_trainers.collect import Episode


def collect(
    env: _runs.Env,
    out: _runs.Out,
    policy: _runs.Policy = None,
    endpoint: _runs.Endpoint = None,
    model: _runs.Model = None,
    random_moves: _runs.RandomMoves = None,
    split: _runs.Split = None,
    offset: _runs.Offset = 0,
    limit: _runs.Limit = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="How many episodes of each task.")] = 1,
    seed: _runs.Seed = 0,
    max_steps: _runs.MaxSteps = None,
    success_only: Annotated[
        bool, typer.Option("--success-only", help="Write conversations of successful episodes only.")
    ] = False,
    min_return: Annotated[
        float | None,
        typer.Option(
            "--min-return", metavar="X", help="Write conversations only with a return of at least this."
        ),
    ] = None,
    prompt: _runs.Prompt = "auto",
    form: _runs.Form = None,
    temperature: _runs.Temperature = None,
    max_tokens: _runs.MaxTokens = None,
    answer_timeout: _runs.AnswerTimeout = 300.0,
    concurrency: _runs.Concurrency = 16,
    retries: _runs.Retries = 2,
    max_lost: _runs.MaxLost = 20,
    hub: HubUrl = None,
    token: HubToken = None,
    as_json: AsJson = False,
) -> None:
    """Play tasks and keep the episodes; 1 when some are missing because of faults.

    Into DIR go episodes.jsonl (in the form of `envhub trajectories export`), conversations.jsonl
    ({"id", "conversations": [{"role", "content"}, …]}), faults.jsonl and run.json. The key of an endpoint is
    read from OPENAI_API_KEY.
    """
    from envhub_trainers import _conversations
    from envhub_trainers.collect import Plan, Run

    plan = Plan(
        split=split,
        offset=offset,
        limit=limit,
        repeats=repeats,
        seed=seed,
        max_steps=max_steps,
        concurrency=concurrency,
        retries=retries,
        max_lost=max_lost,
    )
    choice = _runs.Choice(
        policy, endpoint, model, random_moves, prompt, form, temperature, max_tokens, answer_timeout
    )
    played = _runs.play(hub, token, env, plan, choice, out)
    tally = _Tally()
    wanted = tally.count(Run(out).episodes(), success_only, min_return)
    tally.conversations = _conversations.write(out / "conversations.jsonl", wanted, played.style)
    _report(out, tally, played.collected.faults, as_json)
    missing = _runs.explain_missing(played.collected)
    if missing is not None:
        errors.print(missing, style="yellow", markup=False)
        raise typer.Exit(1)


class _Tally:
    """Counts the episodes of a run while they go by."""

    def __init__(self) -> None:
        self.episodes = self.successes = self.steps = self.invalid_actions = self.conversations = 0
        self.failed = 0
        self.total_return = 0.0

    def count(
        self, episodes: Iterator[Episode], success_only: bool, min_return: float | None
    ) -> Iterator[Episode]:
        """Give those of which a conversation is wanted."""
        for episode in episodes:
            self.episodes += 1
            self.successes += episode.success
            self.steps += len(episode.actions)
            self.invalid_actions += episode.invalid_actions
            self.failed += episode.outcome == "failed"
            self.total_return += episode.total_reward
            if (episode.success or not success_only) and (
                min_return is None or episode.total_reward >= min_return
            ):
                yield episode


def _report(out: Path, tally: _Tally, faults: dict[str, int], as_json: bool) -> None:
    count = max(1, tally.episodes)
    facts: dict[str, Any] = {
        "folder": str(out),
        "episodes": tally.episodes,
        "successes": tally.successes,
        "success_rate": tally.successes / count,
        "mean_return": tally.total_return / count,
        "mean_steps": tally.steps / count,
        "invalid_actions": tally.invalid_actions,
        "failed_by_policy": tally.failed,
        "faults": dict(faults),
        "conversations": tally.conversations,
    }
    if as_json:
        print_json(facts)
        return
    console.print(
        f"{tally.episodes} episodes, {facts['success_rate']:.1%} successful, mean return "
        f"{facts['mean_return']:.3f}, {facts['mean_steps']:.1f} steps",
        markup=False,
    )
    if tally.failed:
        console.print(f"{tally.failed} episodes were ended by a failure of the policy", markup=False)
    if faults:
        said = ", ".join(f"{count} {code}" for code, count in sorted(faults.items()))
        console.print(f"infrastructure faults, played again: {said}", markup=False)
    console.print(f"{tally.conversations} conversations in {out / 'conversations.jsonl'}", markup=False)

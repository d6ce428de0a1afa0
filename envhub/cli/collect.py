"""`envhub collect`: episodes of a policy, as trajectories and as conversations to train on."""

from __future__ import annotations

from typing import Annotated

import typer

from envhub.cli import Starting, _runs
from envhub.cli._output import AsJson, console, print_json
from envhub.cli.sessions import HubToken, HubUrl


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
    with Starting():
        from envhub_trainers import _conversations
        from envhub_trainers.collect import Plan, Run
        from envhub_trainers.evaluate import evaluate

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
    run = Run(out)
    wanted = (
        episode
        for episode in run.episodes()
        if (episode.success or not success_only)
        and (min_return is None or episode.total_reward >= min_return)
    )
    conversations = _conversations.write(out / "conversations.jsonl", wanted, played.style)
    found = evaluate(run)
    if as_json:
        print_json({"folder": str(out), **_runs.summary(found), "conversations": conversations})
    else:
        _runs.print_summary(found)
        console.print(f"{conversations} conversations in {out / 'conversations.jsonl'}", markup=False)
    _runs.end(played.collected)

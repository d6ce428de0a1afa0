"""`envhub train`: reinforcement learning with OpenRLHF, on episodes that hubs play."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envhub.cli import INTERRUPTED, CommandError, Starting
from envhub_trainers._config import Algorithm, ConfigRefused, read, values_of

if TYPE_CHECKING:
    from envhub_trainers._launch import Summary


def train(
    context: typer.Context,
    algorithm: Annotated[Algorithm, typer.Argument(help="What updates the model.")],
    env: Annotated[str | None, typer.Option("--env", "-e", metavar="NAME", help="The environment.")] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="PATH", help="Folder or id of a Hugging Face model."),
    ] = None,
    hub: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="A hub that serves it; may be repeated. None: starts one."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder of the run.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="cpu-tiny (the default), one-node-8gpu or multi-node.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", exists=True, dir_okay=False, help="A TOML file of keys.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key, as in --set train.lr=1e-5."),
    ] = None,
    ray_address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Ray cluster to join. None: starts one.")
    ] = None,
    wandb: Annotated[
        str | None, typer.Option(metavar="PROJECT", help="Log to Weights & Biases too (WANDB_API_KEY).")
    ] = None,
    mlflow: Annotated[
        str | None, typer.Option(metavar="URI", help="Log to this MLflow server or store too.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --output.")] = False,
    only_plan: Annotated[
        bool, typer.Option("--dry-run", help="Print OpenRLHF's command and what Ray needs, start nothing.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show all that OpenRLHF prints.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan or the summary as JSON.")] = False,
) -> None:
    """Train a model on the episodes it plays. Flags of OpenRLHF may follow after --."""
    with Starting():
        from rich.console import Console

        from envhub.cli._bar import Bar
        from envhub_trainers._launch import RunFailed, dry_run, launch, saved

    flags: dict[str, Any] = {
        "algorithm": algorithm,
        "env": env,
        "model": model,
        "hub.urls": hub or None,
        "output": None if output is None else str(output),
        "preset": preset,
        "resources.ray_address": ray_address,
        "logs.wandb_project": wandb,
        "logs.mlflow_uri": mlflow,
        "openrlhf": list(context.args) or None,
    }
    try:
        chosen = values_of(settings or [])
        chosen |= {key: value for key, value in flags.items() if value is not None}
        if resume and output is None:
            raise ConfigRefused("--resume: of which run? --output DIR")
        configuration = read(config, chosen, saved(str(output)) if resume else None)
        if only_plan:
            plan = dry_run(configuration, resume=resume)
            print(json.dumps(plan.to_dict(), indent=2) if as_json else plan)
            return
        with Bar(Console(stderr=as_json)) as bar:
            done = launch(configuration, resume=resume, say=bar.say, progress=bar.progress, verbose=verbose)
    except (ConfigRefused, RunFailed) as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt:
        typer.echo("stopped; everything that was started has ended", err=True)
        raise typer.Exit(INTERRUPTED) from None
    _show(done, as_json)


def _show(done: Summary, as_json: bool) -> None:
    if as_json:
        print(
            json.dumps(
                {
                    "model": str(done.model),
                    "steps": done.steps,
                    "seconds": round(done.seconds, 1),
                    "first": dict(done.first),
                    "last": dict(done.last),
                    "env_wait_share": round(done.env_wait_share, 4),
                    "tokens_per_s": round(done.tokens_per_s, 1),
                }
            )
        )
        return
    print(f"\n{done.steps} steps in {done.seconds / 60:.1f} minutes")
    for name in ("reward", "success", "turns", "kl"):
        if name in done.first and name in done.last:
            print(f"  {name:8} {done.first[name]:.3g} at the first step, {done.last[name]:.3g} at the last")
    print(
        f"  rollouts {done.tokens_per_s:.0f} sampled tokens a second; environments were waited for "
        f"{done.env_wait_share:.1%} of the episodes' time"
    )
    print(f"the model is {done.model}")

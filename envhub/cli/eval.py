"""`envhub eval`: how good is a policy on fixed tasks, and is it better than another?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from envhub.cli import CommandError, Starting, _runs, install
from envhub.cli._output import AsJson, console, errors, print_json, print_table
from envhub.cli.sessions import HubToken, HubUrl

By = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="KEY", help="What makes a task's type: a key of tasks, or file.py:function of a task."
    ),
]
EnvOption = Annotated[
    str | None, typer.Option("--env", metavar="NAME", help="The environment, as the hub serves it.")
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="The run's folder; one that is there is gone on with."),
]

evaluation = typer.Typer(
    help="Play fixed tasks and report success, return, steps and invalid actions; or compare two such runs.",
    invoke_without_command=True,
)


@evaluation.callback()
def run(
    context: typer.Context,
    env: EnvOption = None,
    out: OutOption = None,
    policy: _runs.Policy = None,
    endpoint: _runs.Endpoint = None,
    model: _runs.Model = None,
    random_moves: _runs.RandomMoves = None,
    split: _runs.Split = None,
    offset: _runs.Offset = 0,
    limit: _runs.Limit = None,
    seed: _runs.Seed = 0,
    max_steps: _runs.MaxSteps = None,
    by: By = None,
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
    """Play fixed tasks and report; 1 when episodes are missing because of faults.

    Into DIR go report.json, report.md and chart.png, beside the run itself as `envhub collect` keeps it. The
    split is test where there is one.
    """
    if context.invoked_subcommand is not None:
        return
    if env is None or out is None:
        raise CommandError("--env NAME and --out DIR are needed (or: envhub eval compare DIR DIR)")
    with Starting():
        from envhub_trainers.collect import Plan, Run
        from envhub_trainers.evaluate import evaluate

    plan = Plan(
        split=split,
        usual_split="test",
        offset=offset,
        limit=limit,
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
    with Starting():  # what was played is kept, and the report is made anew by the same command
        from envhub_trainers import _chart, _report

        found = _asked(lambda: evaluate(Run(out), by))
        _write(out, "report", found, _report.evaluation(found), lambda file: _chart.evaluation(found, file))
    if as_json:
        print_json(_plain(found))
    else:
        _runs.print_summary(found)
        console.print(f"report in {out / 'report.md'}", markup=False)
    _runs.end(played.collected)


@evaluation.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="DIR", help="A run's folder.")],
    second: Annotated[Path, typer.Argument(metavar="DIR", help="Another's, on the same environment.")],
    by: By = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Write comparison.json, .md and .png there."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two runs task by task: success by McNemar's exact test, return by paired bootstrap.

    Refused where version, settings, limits, lock or data of their environments differ.
    """
    from envhub_trainers import _chart, _report
    from envhub_trainers.collect import Run
    from envhub_trainers.evaluate import compare as compare_runs

    found = _asked(lambda: compare_runs(Run(first), Run(second), by))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        text = _report.comparison(found)
        _write(out, "comparison", found, text, lambda file: _chart.comparison(found, file))
    if as_json:
        print_json(_plain(found))
        return
    print_table(_report.GROUP_COLUMNS, _report.comparison_rows(found))
    print_table(_report.DIFFERENCE_COLUMNS, _report.difference_rows(found))
    console.print("\n".join(_report.pairs(found)), markup=False)


def _asked(work: Callable[[], Any]) -> Any:
    """The result; what can't be is said as one message."""
    try:
        return work()
    except ValueError as reason:  # RunInvalid, NotComparable, HookNotFound
        raise CommandError(str(reason)) from None


def _plain(found: Any) -> dict[str, Any]:
    facts = dataclasses.asdict(found)
    facts.pop("steps", None)
    return facts


def _write(folder: Path, name: str, found: Any, text: str, draw: Callable[[Path], None]) -> None:
    import msgspec

    chart = folder / ("chart.png" if name == "report" else f"{name}.png")
    try:
        encoded = msgspec.json.format(msgspec.json.encode(_plain(found)))
        (folder / f"{name}.json").write_bytes(encoded + b"\n")
        (folder / f"{name}.md").write_text(text)
        draw(chart)
    except ModuleNotFoundError as missing:
        errors.print(f"no {chart.name}: {missing.name} is not installed ({install('eval')})", markup=False)
    except OSError as error:
        raise CommandError(f"can't write into {folder}: {error.strerror}") from None

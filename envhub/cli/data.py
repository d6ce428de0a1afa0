"""`envhub data`: writing and preparing the files that environments and trainers read."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress, TaskID

from envhub.cli import CommandError, _alfworld, install, unusable
from envhub.cli._bundled import import_from
from envhub.cli._output import AsJson, console, errors, print_json, print_table
from envhub.spec import find

data = typer.Typer(help="Write and prepare data.", no_args_is_help=True)
prepare = typer.Typer(
    help="Prepare official data once, so that serving it starts at once.", no_args_is_help=True
)
fetch = typer.Typer(help="Fetch official data.", no_args_is_help=True)
generate = typer.Typer(help="Generate data of our own in official formats.", no_args_is_help=True)
data.add_typer(prepare, name="prepare")
data.add_typer(fetch, name="fetch")
data.add_typer(generate, name="generate")
fetch.command("alfworld")(_alfworld.fetch)
generate.command("alfworld")(_alfworld.generate)

Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="The folder to write to; made where it is missing.")
]


@data.command()
def frozenlake(
    out: Out,
    train: Annotated[int, typer.Option(metavar="N", min=1, help="Tasks in train.parquet.")] = 10000,
    test: Annotated[int, typer.Option(metavar="N", min=1, help="Tasks in test.parquet.")] = 100,
    map_max_size: Annotated[int, typer.Option(metavar="N", min=3, help="Maps are smaller than this.")] = 6,
    as_json: AsJson = False,
) -> None:
    """Write FrozenLake's tasks as parquet files.

    They are train.parquet and test.parquet, with the columns seed, size, p, index and uid.
    """
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise CommandError(
            f"writing parquet needs pyarrow, which is not installed: {install('parquet')}"
        ) from None
    tasks = import_from("frozenlake", "envhub_frozenlake.tasks")
    recipe = tasks.Tasks(train, test, map_max_size)
    _make_folder(out)
    written = []
    for split in ("train", "test"):
        file = out / f"{split}.parquet"
        columns = pyarrow.table(tasks.rows(recipe.split(split)))
        try:
            pyarrow.parquet.write_table(columns, file)
        except OSError as reason:
            raise unusable(out, reason) from None
        written.append({"split": split, "rows": columns.num_rows, "file": str(file)})
    if as_json:
        print_json(written)
    else:
        print_table(("split", "rows", "file"), (tuple(entry.values()) for entry in written))


@prepare.command()
def webshop(
    from_dir: Annotated[
        Path,
        typer.Option(
            "--from", metavar="DIR", exists=True, file_okay=False, help="The official files' folder."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The folder to write; default: `prepared` in that folder."),
    ] = None,
    human_goals: Annotated[bool, typer.Option(help="Take the goals from people's instructions.")] = True,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of drawn prices and price caps.")] = 0,
    num_products: Annotated[
        int, typer.Option(metavar="N", min=0, help="Read only so many products; 0: all.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Prepare official WebShop data.

    Finds the nouns of the titles and writes the files that serving maps into memory.
    """
    main_prepare = import_from("webshop", "envhub_webshop.prepare").main_prepare
    data_error = import_from("webshop", "envhub_webshop.errors").DataError
    with _stages() as report:
        try:
            folder = main_prepare(
                from_dir,
                out,
                human_goals=human_goals,
                seed=seed,
                num_products=num_products,
                progress=report,
            )
        except data_error as reason:
            raise CommandError(str(reason)) from None
        except OSError as reason:
            raise unusable(out or from_dir, reason) from None
    settings = {"data_dir": str(folder.resolve()), "seed": seed, "num_products": num_products}
    settings = {key: value for key, value in settings.items() if value}  # 0 is the default of both
    if not human_goals:
        settings["human_goals"] = "false"
    words = " ".join(shlex.join(["--set", f"webshop.{key}={value}"]) for key, value in settings.items())
    serve = f"envhub serve --env webshop {words}"
    counts = _counts(settings)
    if as_json:
        print_json({"folder": folder, "settings": settings, **counts, "serve": serve})
        return
    splits = ", ".join(f"{split} {goals:,}" for split, goals in counts["splits"].items())
    console.print(
        f"Wrote {folder}: {counts['products']:,} products, {counts['goals']:,} goals ({splits}). Next:\n"
        f"  {serve}",
        markup=False,
    )


@prepare.command()
def kg(
    from_path: Annotated[
        Path,
        typer.Option(
            "--from", metavar="PATH", exists=True, help="An RDF file (.nt, .ttl, …), or a folder with some."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Load a graph of yours for the environment kg.

    It goes into the cache, where serving it finds it; without this, the first start loads it.
    """
    files = import_from("kg", "envhub_kg.store.files")
    data_error = import_from("kg", "envhub_kg.errors").DataError
    with _stages() as report:
        try:
            folder, digest = files.folder_of(from_path, report)
        except data_error as reason:
            raise CommandError(str(reason)) from None
    serve = shlex.join(["envhub", "serve", "--env", "kg", "--set", f"kg.store={from_path}"])
    if as_json:
        print_json({"folder": folder, "digest": digest, "serve": serve})
        return
    console.print(
        f"{from_path} is loaded, into {folder}. Next, with your questions:\n"
        f"  {serve} --set kg.data_dir=QUESTIONS.json",
        markup=False,
        soft_wrap=True,
    )


@contextlib.contextmanager
def _stages() -> Iterator[Callable[[str, int, int], None]]:
    """Yield what shows stages as progress bars."""
    with Progress(console=errors, transient=True) as progress:
        stages: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in stages:
                stages[stage] = progress.add_task(stage)
            progress.update(stages[stage], completed=done, total=total)

        yield report


def _counts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Open a prepared folder as serving it does, and count what it holds."""
    spec = find("webshop")
    env = import_from("webshop", "envhub_webshop.env").WebShopEnv
    config = spec.resolve(settings).config
    shop = env(env.load_shared(config), **config)
    info = shop.data_info()
    splits = {split: len(shop.tasks(split)) for split in spec.splits}
    return {"products": info["products"], "goals": info["goals"], "splits": splits}


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise CommandError(f"--out {folder}: the folder cannot be made: {reason.strerror}") from reason

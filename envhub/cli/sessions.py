"""`envhub sessions`: looking at the open sessions of a hub that runs, and ending them."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from envhub.cli import CommandError
from envhub.cli._output import AsJson, errors, print_json, print_table

if TYPE_CHECKING:
    from envhub_sdk import Hub, SessionState

HubUrl = Annotated[
    str | None,
    typer.Option("--hub", metavar="URL", envvar="ENVHUB_URL", help="The hub; default http://127.0.0.1:8000."),
]
HubToken = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        envvar="ENVHUB_TOKEN",
        help="A token of the hub; with a client's, only that client's sessions are there.",
    ),
]

sessions = typer.Typer(help="Look at the open sessions of a hub, and end them.", no_args_is_help=True)


@sessions.command("list")
def list_sessions(hub: HubUrl = None, token: HubToken = None, as_json: AsJson = False) -> None:
    """List the open sessions, oldest first."""
    with _at(hub, token) as client:
        found = client.sessions()
    if as_json:
        print_json(found)
        return
    now = time.time()
    rows = (
        (
            one.id,
            one.env,
            one.owner or "",
            one.status,
            one.step_index,
            f"{one.episode_return:g}",
            _duration(now - one.created_at),
            _duration(one.expires_at - now),
        )
        for one in found
    )
    print_table(("id", "env", "owner", "status", "step", "return", "age", "expires in"), rows)


@sessions.command()
def show(
    session_id: Annotated[str, typer.Argument(metavar="ID")],
    hub: HubUrl = None,
    token: HubToken = None,
    as_json: AsJson = False,
) -> None:
    """Show where one session stands."""
    with _at(hub, token) as client:
        found = _find(client, session_id)
    if as_json:
        print_json(found)
        return
    now = time.time()
    rows = [
        ("id", found.id),
        ("env", found.env),
        ("owner", found.owner or "nobody by name"),
        ("status", found.status),
        ("task", json.dumps(found.task, ensure_ascii=False)),
        ("seed", found.seed),
        ("episode", found.episode_id),
        ("next step", found.step_index),
        ("return", f"{found.episode_return:g}"),
        ("ended", "terminated" * found.terminated or "truncated" * found.truncated or "no"),
        ("worker starts", found.worker_generation),
        ("age", _duration(now - found.created_at)),
        ("expires in", _duration(found.expires_at - now)),
        ("labels", ", ".join(f"{name}={value}" for name, value in found.labels.items())),
    ]
    print_table((), rows)


@sessions.command()
def kill(
    session_ids: Annotated[list[str], typer.Argument(metavar="ID…")],
    hub: HubUrl = None,
    token: HubToken = None,
    as_json: AsJson = False,
) -> None:
    """End sessions; their replicas are free again, and their clients hear `session_closed`.

    Each is tried, whatever became of the others; the exit status is 1 when one of them was not ended.
    """
    with _at(hub, token) as client:
        reasons = {session_id: _end(client, session_id) for session_id in session_ids}
    if as_json:
        print_json(
            [
                {"id": session_id, "closed": reason is None, "reason": reason}
                for session_id, reason in reasons.items()
            ]
        )
    else:
        for session_id, reason in reasons.items():
            if reason is None:
                print(f"closed {session_id}")
            else:
                errors.print(f"not closed {session_id}: {reason}", markup=False)
    if any(reasons.values()):
        raise typer.Exit(1)


def _end(client: Hub, session_id: str) -> str | None:
    """Ends one session; returns why it could not."""
    from envhub_sdk import EnvHubError, Unauthorized, UnknownSession

    if not session_id.strip(". ") or "/" in session_id:
        return "that is no id of a session; `envhub sessions list` shows those there are"
    try:
        client.end_session(session_id)
    except Unauthorized:
        raise
    except UnknownSession:
        return "there is no open session of that id; `envhub sessions list` shows those there are"
    except EnvHubError as error:
        return str(error)
    return None


@contextlib.contextmanager
def _at(url: str | None, token: str | None) -> Iterator[Hub]:
    """The hub, whose refusals become messages of the command."""
    from envhub_sdk import EnvHubError, Hub, Unauthorized  # here, so that the light commands stay quick

    try:
        with Hub(url, token=token, retries=0) as client:
            yield client
    except Unauthorized as error:
        raise CommandError(f"{client.url}: {error} (here: --token TOKEN, or set ENVHUB_TOKEN)") from None
    except (EnvHubError, ValueError) as error:
        raise CommandError(str(error)) from None


def _find(hub: Hub, session_id: str) -> SessionState:
    """The session of that id; looking at the list does not keep it from expiring.

    Raises:
        CommandError: It is not open, or not this token's to see.
    """
    for one in hub.sessions():
        if one.id == session_id:
            return one
    raise CommandError(
        f"no open session {session_id!r} at {hub.url}; `envhub sessions list` shows those there are"
    )


def _duration(seconds: float) -> str:
    """A time span for people: `42 s`, `3 min 5 s`, `2 h 10 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"

"""Running a hub in the foreground: the socket, the server, the banner, the end."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ipaddress
import json
import logging
import os
import signal
import socket
import time
from collections.abc import Coroutine, Iterator
from typing import Any

import uvicorn
import uvloop
from rich.markup import escape

from envhub.cli import CommandError
from envhub.cli._output import console, errors
from envhub.pool import LoadFailed, PoolPlan
from envhub.record import Recorder
from envhub.server import LIFE, Hub, HubSettings, create_app, http_protocol
from envhub.spec import ServedSpec, counted

log = logging.getLogger(LIFE)

KEEP_ALIVE_S = 75
"""How long a connection may lie idle: longer than clients keep theirs, so that they are never the second
to know."""
SHUTDOWN_S = 1
"""How long requests under way may take once the hub is told to stop."""


def run_hub(
    plans: list[PoolPlan],
    settings: HubSettings,
    recorder: Recorder | None,
    host: str,
    port: int,
    as_json: bool,
    drain_timeout_s: float,
    watched: bool,
) -> None:
    """Serves until it is told to stop.

    SIGTERM drains: nothing new begins, and what is under way has `drain_timeout_s` seconds to end. SIGINT, or
    a second signal, stops at once.

    Args:
        plans: The environments to serve.
        settings: What holds for all of them.
        recorder: Writes down what happens in sessions.
        host: The address to listen on.
        port: The port; 0 for any.
        as_json: Whether to print one line of JSON when ready, in place of the banner.
        drain_timeout_s: See above.
        watched: Whether somebody watches standard error: what goes on is then shown there, else logged.

    Raises:
        CommandError: The address can't be had, or an environment can't be loaded.
    """
    listener = _listen(host, port, settings)
    with listener, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(plans, settings, recorder, listener, as_json, drain_timeout_s, watched))


def _listen(host: str, port: int, settings: HubSettings) -> socket.socket:
    """Binds the port before anything is loaded; only loopback is open to everybody."""
    if settings.token == "":
        raise CommandError("the token is empty: give --token (or ENVHUB_TOKEN) some text, or leave it out")
    if settings.token is None and settings.tokens is not None and not settings.tokens:
        raise CommandError("the tokens file has no token: make one with `envhub token new NAME --file FILE`")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise CommandError(f"--host {host}: {error.strerror}; give an address of this machine") from None
    if settings.open_to_all and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise CommandError(
            f"refusing to listen on {host} without a token, since others could reach it: add --token TOKEN "
            "(or set ENVHUB_TOKEN) or --tokens FILE, or listen on 127.0.0.1"
        )
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise CommandError(
            f"can't listen on {host} port {port}: {error.strerror}; choose another with --port, or --port 0"
        ) from None
    return listener


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # `_run` handles them: stopping the hub is part of the shutdown


class _Ending:
    """What the signals that were sent ask for."""

    def __init__(self) -> None:
        self.wanted = asyncio.Event()
        """The hub is to end, when what is under way is done."""
        self.at_once = asyncio.Event()
        """It is to end now."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._gently)
        loop.add_signal_handler(signal.SIGINT, self._now)

    def _gently(self) -> None:
        if self.wanted.is_set():
            self.at_once.set()
        self.wanted.set()

    def _now(self) -> None:
        self.at_once.set()
        self.wanted.set()


async def _run(
    plans: list[PoolPlan],
    settings: HubSettings,
    recorder: Recorder | None,
    listener: socket.socket,
    as_json: bool,
    drain_timeout_s: float,
    watched: bool,
) -> None:
    tell = _show if watched else log.info
    started = time.monotonic()
    hub = Hub(plans, settings, recorder)
    server = _Server(
        uvicorn.Config(
            create_app(hub),
            loop="none",
            http=http_protocol(settings.request_timeout_s),
            ws="websockets-sansio",
            ws_max_size=settings.max_body_bytes,
            ws_per_message_deflate=False,
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="warning",
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=SHUTDOWN_S,
        )
    )
    ending = _Ending()
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        loading = f"Loading {', '.join(hub.pools)} …"
        if not watched:
            log.info(loading)
        with errors.status(escape(loading)) if watched else contextlib.nullcontext():
            if not await _unless(ending.wanted, hub.start()):
                return
        seconds = time.monotonic() - started
        _announce(hub, listener, as_json, seconds)
        if not watched:
            log.info("Ready at %s after %.1f s", _url(*listener.getsockname()[:2]), seconds)
            for name, pool in hub.pools.items():
                python = pool.description.get("python")
                log.info("Python %s; isolation: %s", python, pool.served.runtime, extra={"env": name})
                note = (pool.description.get("data") or {}).get("note")
                if note:
                    log.info("data: %s", note, extra={"env": name})
        await ending.wanted.wait()
        if not ending.at_once.is_set():
            tell(f"Draining for at most {drain_timeout_s:g} s …")
            await _unless(ending.at_once, hub.sessions.drain(drain_timeout_s))
        tell("Stopping …")
    except LoadFailed as failure:
        raise CommandError(str(failure)) from None
    finally:
        server.should_exit = True
        await asyncio.gather(hub.stop(), serving)
        if recorder is not None:
            recorder.close()


def _show(words: str) -> None:
    errors.print(words, markup=False)


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Does the work; False when it was told to stop before it was done."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not working.done():
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        return False
    working.result()
    return True


def _announce(hub: Hub, listener: socket.socket, as_json: bool, seconds: float) -> None:
    """Says what is served, on which data, where and how, and how to play it."""
    host, port = listener.getsockname()[:2]
    infos = [hub.env_info(name) for name in hub.pools]
    if as_json:
        url = _url(host, port)
        ready = {
            "url": url,
            "pid": os.getpid(),
            "envs": {info.name: info.replicas["total"] for info in infos},
            "isolation": {info.name: info.isolation for info in infos},
            "lock_digest": {info.name: info.lock_digest for info in infos},
        }
        print(json.dumps(ready), flush=True)
        return
    everywhere = ipaddress.ip_address(host.partition("%")[0]).is_unspecified
    url = _url(socket.gethostname() if everywhere else host, port)
    console.print(f"[bold green]EnvHub[/] is ready at [bold]{url}[/] after {seconds:.1f} s")
    for info in infos:
        console.print(f"  [bold]{info.name}[/] {info.version}: {escape(info.summary)}")
        replicas = counted(info.replicas["total"], "replica")
        workers = counted(info.workers, "worker process")
        served = hub.pools[info.name].served
        console.print(f"    {replicas} in {workers}; isolation: {served.runtime}", soft_wrap=True)
        changed = _changed(served)
        if changed:
            console.print(f"    settings: {changed}", markup=False)
        if info.data:
            tasks = [f"{name} {split['tasks']:,}" for name, split in info.splits.items() if split["tasks"]]
            counts = f"; tasks: {', '.join(tasks)}" if tasks else ""
            line = f"    data: {info.data['name']}, {info.data['digest']}{counts}"
            console.print(line, markup=False, soft_wrap=True)
            if info.data.get("note"):
                console.print(f"    {info.data['note']}", markup=False, soft_wrap=True)
    console.print(f"  docs {url}/docs · metrics {url}/metrics · Ctrl-C stops\n\nPlay it from Python:\n")
    token_first = (
        "" if hub.settings.open_to_all else "    # before: export ENVHUB_TOKEN=… (the hub's token)\n"
    )
    console.print(
        f"{token_first}"
        f"    from envhub_sdk import Hub\n"
        f'    env = Hub("{url}").make("{infos[0].name}")\n'
        f"    print(env.reset(seed=0))\n",
        markup=False,
    )


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _changed(served: ServedSpec) -> str:
    """Returns the settings and limits that are not the spec's own."""
    usual = served.spec.resolve()
    limits, usual_limits = dataclasses.asdict(served.limits), dataclasses.asdict(usual.limits)
    values, usual_values = {**served.config, **limits}, {**usual.config, **usual_limits}
    return ", ".join(
        f"{key} = {json.dumps(value, ensure_ascii=False)}"
        for key, value in values.items()
        if key not in usual_values or usual_values[key] != value
    )

"""Health means that a worker answered; a death is known with its reason."""

import asyncio
import dataclasses
import os
import signal
import time
from typing import Any

import pytest

from envhub.pool import LoadFailed, Pool, Replica, _channel, _keeper, _pool, _worker
from envhub.worker import frames

ENV = """
class Env:
    def __init__(self):
        pass

    def reset(self, *, seed=None, options=None):
        return "start", {}

    def step(self, action):
        return action, 0.0, False, False, {}
"""


async def leased(pool: Pool) -> Replica:
    (replica,) = await pool.acquire(1, 20.0)
    assert (await replica.call(frames.RESET, b'{"seed":1,"options":{}}'))[0] == frames.DONE
    return replica


async def death(pool: Pool, eventually: Any) -> tuple[str, str]:
    await eventually(lambda: pool._workers[0].death and pool.status().ready)
    found = pool._workers[0].death
    assert found is not None
    assert set(pool.deaths) == {found.kind}
    return found.kind, found.words


async def test_an_idle_worker_that_gives_no_sign_of_life_is_killed(
    start_pool: Any, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_keeper, "PING_S", 0.05)
    monkeypatch.setattr(_keeper, "PING_LIMIT_S", 0.3)
    monkeypatch.setattr(_keeper, "KILL_GRACE_S", 0.1)
    pool = await start_pool()
    os.kill(pool._workers[0].pid, signal.SIGSTOP)
    kind, words = await death(pool, eventually)
    assert (kind, words) == (
        "silent",
        "was killed by the hub: it was idle and gave no sign of life for 0.3 s",
    )


async def test_a_worker_that_does_not_answer_is_not_ready_though_its_socket_is_open(
    start_pool: Any, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_keeper, "PING_S", 0.05)
    monkeypatch.setattr(_worker, "SILENT_S", 0.2)
    pool = await start_pool()
    os.kill(pool._workers[0].pid, signal.SIGSTOP)
    try:
        await eventually(lambda: not pool.status().ready)
    finally:
        os.kill(pool._workers[0].pid, signal.SIGCONT)
    await eventually(lambda: pool.status().ready)
    assert pool.status().restarts == 0


async def test_a_busy_worker_is_not_taken_for_a_dead_one(
    start_pool: Any, write_spec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_keeper, "PING_S", 0.05)
    monkeypatch.setattr(_keeper, "PING_LIMIT_S", 0.1)
    monkeypatch.setattr(_keeper, "KILL_GRACE_S", 0.5)
    monkeypatch.setattr(_worker, "SILENT_S", 0.5)
    slow = ENV.replace("return action", "__import__('time').sleep(1.2); return action")
    pool = await start_pool(write_spec(slow))
    stepping = (await leased(pool)).call(frames.STEP, b'"slow"')
    while not stepping.done():
        assert pool.status().ready
        await asyncio.sleep(0.05)
    assert (await stepping)[0] == frames.OK
    assert pool.status().restarts == 0


async def test_a_worker_is_not_blamed_for_time_in_which_the_machine_stood_still(
    start_pool: Any, write_spec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_keeper, "WATCH_S", 0.05)
    monkeypatch.setattr(_keeper, "KILL_GRACE_S", 20.0)
    stood_still = 0.0
    monkeypatch.setattr(_channel, "_clock", lambda: time.monotonic() + stood_still)
    pool = await start_pool(
        write_spec(ENV.replace("return action", "__import__('time').sleep(1); return action"))
    )
    stepping = (await leased(pool)).call(frames.STEP, b'"slow"')
    stood_still = 1000.0
    assert (await stepping)[0] == frames.OK
    assert pool.status().restarts == 0


async def test_a_kill_from_outside_is_told_as_such(start_pool: Any, eventually: Any) -> None:
    pool = await start_pool()
    os.kill(pool._workers[0].pid, signal.SIGKILL)
    kind, words = await death(pool, eventually)
    assert kind == "signal" and words.startswith("was killed by signal 9 (SIGKILL")


@pytest.mark.parametrize("fork", ["true", "false"])
async def test_an_exit_status_is_told(fork: str, start_pool: Any, write_spec: Any, eventually: Any) -> None:
    source = ENV.replace("return action", "__import__('os')._exit(41)")
    pool = await start_pool(write_spec(source, f"fork = {fork}\n"))
    (await leased(pool)).call(frames.STEP, b'"x"')
    assert await death(pool, eventually) == ("exit", "ended itself with exit status 41")


async def test_a_hang_is_told_with_what_hung(
    start_pool: Any, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_keeper, "KILL_GRACE_S", 0.1)
    pool = await start_pool(stuck_on="stuck", step_timeout_s=0.2)
    (await leased(pool)).call(frames.STEP, b'"stuck"')
    kind, words = await death(pool, eventually)
    assert kind == "hang"
    assert words == "was killed by the hub: a step exceeded 0.2 s and could not be interrupted"


async def test_bytes_that_are_no_frame_cost_that_worker(
    start_pool: Any, write_spec: Any, eventually: Any
) -> None:
    scribble = "import os, stat\n" + ENV.replace(
        "return action",
        "[os.write(fd, b'x' * 64) for fd in range(3, 30) if is_socket(fd)]; return action",
    )
    scribble += (
        "\n\ndef is_socket(fd):\n"
        "    try:\n        return stat.S_ISSOCK(os.fstat(fd).st_mode)\n"
        "    except OSError:\n        return False\n"
    )
    pool = await start_pool(write_spec(scribble))
    (await leased(pool)).call(frames.STEP, b'"x"')
    assert (await death(pool, eventually))[0] == "protocol"


@pytest.mark.parametrize("fork", ["true", "false"])
async def test_a_worker_that_dies_as_it_builds_is_told_with_its_last_words(
    fork: str, start_pool: Any, write_spec: Any
) -> None:
    dying = "import os; os.write(2, b'the licence is gone\\n'); os._exit(7)"
    with pytest.raises(LoadFailed) as failed:
        await start_pool(write_spec(ENV.replace("pass", dying), f"fork = {fork}\n"))
    assert "exit status 7" in str(failed.value) and "the licence is gone" in str(failed.value)


async def test_the_first_quick_deaths_cost_no_pause(
    start_pool: Any, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pool, "MAX_BACKOFF_S", 1e6)
    monkeypatch.setattr(_pool, "FIRST_BACKOFF_S", 1e6)
    monkeypatch.setattr(_pool, "HEALTHY_S", 1e6)
    pool = await start_pool(replicas=2, workers=2)
    for killed in range(1, 4):
        os.kill(pool._workers[0].pid, signal.SIGKILL)
        await eventually(lambda killed=killed: pool.status().restarts == killed and pool.status().ready)
    os.kill(pool._workers[0].pid, signal.SIGKILL)
    await eventually(lambda: pool.status().failure)
    assert "died 4 times in a row; it was killed by signal 9" in str(pool.status().failure)
    os.kill(pool._workers[1].pid, signal.SIGKILL)  # another worker does not pay for that
    await eventually(lambda: pool._workers[1].generation == 2 and pool._workers[1].ready)


async def test_the_hubs_own_token_does_not_reach_environments(
    start_pool: Any, write_spec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENVHUB_TOKEN", "the secret")
    source = ENV.replace("return action,", "return sorted(v for v in __import__('os').environ.values()),")
    pool = await start_pool(write_spec(source))
    _, body = await (await leased(pool)).call(frames.STEP, b'"x"')
    assert b"the secret" not in body and b"/" in body


async def test_a_template_that_does_not_answer_is_replaced_and_its_workers_live_on(
    start_pool: Any, eventually: Any
) -> None:
    pool = await start_pool(replicas=2, workers=2)
    template, (first, second) = pool._template_of[0], pool._workers
    limits = dataclasses.replace(template._served.limits, load_timeout_s=0.5)
    template._served = dataclasses.replace(template._served, limits=limits)  # the next one has the usual time
    lived = second.pid
    os.kill(template.pid, signal.SIGSTOP)
    os.kill(first.pid, signal.SIGKILL)
    await eventually(lambda: pool.status().ready and pool._template_of[0] is not template, 60)
    assert pool._template_of[0].listening and second.pid == lived and second.generation == 1

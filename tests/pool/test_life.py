"""Pools start, die in parts, come back, and leave nothing behind."""

import asyncio
import dataclasses
import json
import logging
import os
import signal
import sys
from typing import Any

import pytest

from envhub.pool import LoadFailed, NoFreeReplica, Pool, Replica, _keeper, _pool, _worker
from envhub.pool._worker import FREE_DEATHS
from envhub.spec import find
from envhub.worker import frames

RESET = b'{"seed":1,"options":{}}'
LOST = frames.ERROR_CODES["session_lost"]

ENV = """
class Env:
    def __init__(self):
        pass

    def reset(self, *, seed=None, options=None):
        return "start", {}

    def step(self, action):
        return action, 0.0, False, False, {}
"""


async def step(replica: Replica, action: str) -> tuple[int, Any]:
    code, body = await replica.call(frames.STEP, json.dumps(action).encode())
    return code, json.loads(body)


async def leased(pool: Pool) -> Replica:
    (replica,) = await pool.acquire(1, 20.0)
    code, _ = await replica.call(frames.RESET, RESET)
    assert code == frames.DONE
    return replica


async def test_replicas_spread_evenly_over_workers(start_pool: Any) -> None:
    pool = await start_pool(replicas=7, workers=3)
    assert sorted(len(worker.replicas) for worker in pool._workers) == [2, 2, 3]
    status = pool.status()
    assert (status.total, status.free, status.workers, status.ready) == (7, 7, 3, True)
    leased_now = await pool.acquire(4, 0)
    assert {replica.worker.number for replica in leased_now} == {0, 1, 2}
    assert len(pool.processes()) == 4, "one template and three workers"


async def test_there_are_never_more_workers_than_replicas(start_pool: Any) -> None:
    assert (await start_pool(replicas=2, workers=8)).status().workers == 2


@pytest.mark.parametrize(
    ("replicas", "workers", "expected"), [(8, None, 4), (7, None, 4), (8, 1, 1), (1, None, 1)]
)
def test_a_spec_says_how_many_replicas_may_share_a_worker(
    replicas: int, workers: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    served = dataclasses.replace(find("echo"), replicas_per_worker=2).resolve()
    assert Pool(served, replicas, workers).status().workers == expected


def test_a_pool_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Pool(find("echo").resolve(), 0)


async def test_every_replica_has_its_own_environment(start_pool: Any) -> None:
    pool = await start_pool(replicas=4, workers=2)
    replicas = await pool.acquire(4, 0)
    await asyncio.gather(*(replica.call(frames.RESET, RESET) for replica in replicas))
    answers = await asyncio.gather(*(step(replica, f"to {n}") for n, replica in enumerate(replicas)))
    assert [answer["observation"] for _, answer in answers] == ["to 0", "to 1", "to 2", "to 3"]


async def test_stop_leaves_no_process_and_no_descriptor(processes: Any) -> None:
    await asyncio.to_thread(lambda: None)  # so that the loop's own threads and pipes are there already
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        pool = Pool(find("echo").resolve(), 4, 2)
        await pool.start()
        pids = pool.processes()
        assert len(pids) == 3 and all(map(processes.alive, pids))
        await pool.stop()
        assert not any(map(processes.alive, pids))
    assert len(os.listdir("/proc/self/fd")) <= before + 1


async def test_stop_while_it_starts_leaves_no_process(processes: Any, write_spec: Any) -> None:
    spec = write_spec("import time; time.sleep(60)\n" + ENV)
    pool = Pool(spec.resolve(), 2, 2)
    starting = asyncio.create_task(pool.start())
    while not pool.processes():
        await asyncio.sleep(0.01)
    (pid,) = pool.processes()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not processes.group(pid)


async def test_a_stopped_pool_tells_those_who_wait(start_pool: Any) -> None:
    pool = await start_pool()
    await pool.acquire(1, 0)
    waiting = asyncio.create_task(pool.acquire(1, 60))
    await asyncio.sleep(0)
    await pool.stop()
    with pytest.raises(NoFreeReplica, match="stopping"):
        await waiting


# -- what can't be loaded ---------------------------------------------------------------------------

BROKEN = {
    "import": ("import no_such_module_anywhere\n", "No module named 'no_such_module_anywhere'"),
    "syntax": ("def Env(:\n", "SyntaxError"),
    "no class": ("class Other: pass\n", "has no attribute 'Env'"),
    "build": (ENV.replace("pass", "raise RuntimeError('no licence')"), "no licence"),
    "load_shared": (ENV + "    load_shared = staticmethod(lambda config: 1 / 0)\n", "ZeroDivisionError"),
    "argument": (ENV.replace("self):", "self, *, needed):", 1), "needed"),
    "exit": ("import sys; sys.exit('gone')\n", "SystemExit: gone"),
    "death": ("import os; os.write(2, b'last words'); os._exit(9)\n", "last words"),
    "describe": (ENV + "    def data_info(self): raise KeyError('no data')\n", "no data"),
}


@pytest.mark.parametrize("fork", ["true", "false"])
@pytest.mark.parametrize("what", BROKEN)
async def test_load_failed_has_the_environments_own_words(
    what: str, fork: str, start_pool: Any, write_spec: Any
) -> None:
    source, words = BROKEN[what]
    with pytest.raises(LoadFailed) as failed:
        await start_pool(write_spec(source, f"fork = {fork}\n"), replicas=2, workers=2)
    assert words in str(failed.value)
    assert "probe" in str(failed.value)
    if what not in ("death", "describe"):
        assert "probe_env.py" in str(failed.value) or what in ("no class", "argument")


FORGER = """
import os, socket, stat

def forge(*words):
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                control = socket.socket(fileno=os.dup(int(name)))
                if control.type == socket.SOCK_SEQPACKET:
                    for word in words:
                        control.send(word)
        except OSError:
            pass
"""


@pytest.mark.parametrize("word", [b"\xff", b"[]", b'{"forked":0,"pid":-1}', b'{"failed":7}'])
async def test_a_template_whose_environment_forges_its_reports_is_given_up(
    word: bytes, start_pool: Any, write_spec: Any
) -> None:
    forging = ENV + f"    load_shared = staticmethod(lambda config: forge({word!r}))\n"
    with pytest.raises(LoadFailed, match="said nonsense"):
        await start_pool(write_spec(FORGER + forging.replace("__init__(self)", "__init__(self, shared)")))


async def test_a_report_about_no_worker_is_passed_over(start_pool: Any, write_spec: Any) -> None:
    forging = (
        ENV + """    load_shared = staticmethod(lambda config: forge(b'{"forked":99,"pid":77}', b'{}'))\n"""
    )
    spec = write_spec(FORGER + forging.replace("__init__(self)", "__init__(self, shared)"))
    assert (await start_pool(spec)).status().ready


async def test_a_load_over_its_limit_is_killed(start_pool: Any, write_spec: Any) -> None:
    spec = write_spec("import time; time.sleep(60)\n" + ENV)
    with pytest.raises(LoadFailed, match=r"load_timeout_s = 0\.3 s"):
        await start_pool(spec, load_timeout_s=0.3)


@pytest.mark.parametrize("fork", ["true", "false"])
async def test_when_one_worker_fails_to_start_the_others_stop_starting(
    fork: str, start_pool: Any, write_spec: Any
) -> None:
    spec = write_spec("import time; time.sleep(60)\n" + ENV, f"fork = {fork}\n")
    with pytest.raises(LoadFailed):
        await start_pool(spec, replicas=4, workers=4, load_timeout_s=0.3)
    assert not [task for task in asyncio.all_tasks() if "_start_worker" in repr(task.get_coro())]


async def test_a_build_that_no_signal_reaches_is_killed(
    start_pool: Any, write_spec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_keeper, "KILL_GRACE_S", 0.1)
    stuck = "import signal, time; signal.pthread_sigmask(0, signal.valid_signals()); time.sleep(60)"
    with pytest.raises(LoadFailed, match="probe"):
        await start_pool(write_spec(ENV.replace("pass", stuck)), load_timeout_s=0.3)


# -- what dies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fork", [True, False])
async def test_a_killed_worker_is_told_and_comes_back(
    fork: bool, start_pool: Any, write_spec: Any, eventually: Any
) -> None:
    pool = await start_pool(write_spec(ENV, f"fork = {str(fork).lower()}\n"), replicas=2, workers=2)
    first, second = await leased(pool), await leased(pool)
    told: list[str] = []

    def lost() -> None:
        pool.release(first)  # of a worker that is down: nobody may lease it now
        told.append(f"first, {pool.status().free} free")

    first.on_lost, second.on_lost = lost, (lambda: told.append("second"))
    generation = first.worker.generation
    os.kill(first.worker.pid, signal.SIGKILL)
    await eventually(lambda: told)
    assert told == ["first, 0 free"]
    assert (await step(second, "goes on"))[1]["observation"] == "goes on"
    await eventually(lambda: pool.status().ready)
    assert pool.status().free == 1
    assert pool.status().restarts == 1
    again = await leased(pool)
    assert (again.worker, again.worker.generation) == (first.worker, generation + 1)


async def test_a_worker_killed_in_mid_step_answers_lost(start_pool: Any, eventually: Any) -> None:
    pool = await start_pool(hang_on="hang")
    replica = await leased(pool)
    step_under_way, queued = replica.call(frames.STEP, b'"hang"'), replica.call(frames.STEP, b'"next"')
    await asyncio.sleep(0)
    os.kill(replica.worker.pid, signal.SIGKILL)
    assert (await step_under_way)[0] == LOST
    assert (await queued)[0] == LOST
    assert (await replica.call(frames.STEP, b'"late"'))[0] in (LOST, frames.ERROR_CODES["no_episode"])


async def test_a_killed_template_is_replaced_and_its_workers_go_on(start_pool: Any, eventually: Any) -> None:
    pool = await start_pool(replicas=2, workers=2)
    replica = await leased(pool)
    old = pool._template_of[0].pid
    os.kill(old, signal.SIGKILL)
    await eventually(lambda: pool._template_of[0].alive and pool._template_of[0].pid != old)
    assert (await step(replica, "still here"))[1]["observation"] == "still here"
    os.kill(replica.worker.pid, signal.SIGKILL)
    await eventually(lambda: replica.worker.generation == 2 and pool.status().ready)


async def test_the_whole_tree_killed_at_once_comes_back(start_pool: Any, eventually: Any) -> None:
    pool = await start_pool(replicas=4, workers=2)
    for _ in range(3):
        generations = [worker.generation for worker in pool._workers]
        os.killpg(pool._template_of[0].pid, signal.SIGKILL)
        await eventually(
            lambda generations=generations: (
                pool.status().ready
                and all(w.generation > g for w, g in zip(pool._workers, generations, strict=True))
            )
        )
        assert pool.status().free == 4
        await leased(pool)
        pool.release(pool._workers[0].replicas[0])
        pool._free = {worker: list(worker.replicas) for worker in pool._workers}


async def test_a_native_hang_is_killed_by_the_watchdog(
    start_pool: Any, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_keeper, "KILL_GRACE_S", 0.5)
    pool = await start_pool(stuck_on="stuck", step_timeout_s=1.0)
    replica = await leased(pool)
    assert (await step(replica, "stuck"))[0] == LOST
    pool.release(replica)
    await eventually(lambda: pool.status().ready)
    assert (await step(await leased(pool), "fine"))[0] == frames.OK


async def test_a_stopped_worker_is_killed_by_the_watchdog(
    start_pool: Any, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_keeper, "KILL_GRACE_S", 0.1)
    pool = await start_pool(step_timeout_s=0.2)
    replica = await leased(pool)
    os.kill(replica.worker.pid, signal.SIGSTOP)
    assert (await step(replica, "never"))[0] == LOST
    await eventually(lambda: pool.status().ready)


async def test_an_interruptible_hang_costs_the_episode_alone(start_pool: Any) -> None:
    pool = await start_pool(replicas=2, hang_on="hang", step_timeout_s=1.0)
    first, second = await leased(pool), await leased(pool)
    hung, fine = await asyncio.gather(step(first, "hang"), step(second, "fine"))
    assert hung[0] == frames.ERROR_CODES["step_timeout"]
    assert fine[1]["observation"] == "fine"
    assert pool.status().restarts == 0


async def test_a_slow_reset_behind_a_quick_step_is_no_hang(
    start_pool: Any, write_spec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sent in one frame; the step's answer must not wait for the reset, or it looks like a stuck step."""
    monkeypatch.setattr(_keeper, "KILL_GRACE_S", 0.5)
    source = ENV.replace(
        'return "start"', "__import__('time').sleep((options or {}).get('sleep', 0)); return 's'"
    )
    pool = await start_pool(write_spec(source), replicas=2, step_timeout_s=1.0)
    first, second = await leased(pool), await leased(pool)
    quick = first.call(frames.STEP, b'"quick"')
    slow = second.call(frames.RESET, b'{"seed":1,"options":{"sleep":3.0}}')
    assert (await quick)[0] == frames.OK
    assert not slow.done()
    assert (await slow)[0] == frames.DONE
    assert pool.status().restarts == 0


async def test_an_environment_that_ends_its_process_loses_that_worker_alone(
    start_pool: Any, eventually: Any
) -> None:
    pool = await start_pool(replicas=2, workers=2, exit_on="exit")
    first, second = await leased(pool), await leased(pool)
    assert (await step(first, "exit"))[0] == LOST
    assert (await step(second, "fine"))[0] == frames.OK
    await eventually(lambda: pool.status().ready)


async def test_a_crash_loop_backs_off_and_says_why(
    start_pool: Any, write_spec: Any, eventually: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pool, "FIRST_BACKOFF_S", 0.01)
    flag = tmp_path / "broken"
    check = f"if __import__('os').path.exists({str(flag)!r}): raise RuntimeError('still broken')"
    pool = await start_pool(write_spec(ENV.replace("pass", check)))
    flag.touch()
    os.kill(pool._workers[0].pid, signal.SIGKILL)
    await eventually(lambda: pool.status().failure)
    assert "still broken" in (pool.status().failure or "")
    assert not pool.status().ready
    with pytest.raises(NoFreeReplica):
        await pool.acquire(1, 0)
    restarts = pool.status().restarts
    await eventually(lambda: pool.status().restarts > restarts)
    assert pool._workers[0].quick_deaths >= 2
    flag.unlink()
    await eventually(lambda: pool.status().ready)
    assert pool.status().failure is None
    await leased(pool)


async def test_deaths_in_a_row_wait_ever_longer(
    start_pool: Any, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noting(seconds: float) -> None:
        if sys._getframe(1).f_code.co_name == "_revive":
            pauses.append(seconds)
            seconds = 0
        await sleep(seconds)

    monkeypatch.setattr(_pool.asyncio, "sleep", noting)
    monkeypatch.setattr(_pool, "HEALTHY_S", 1e6)
    monkeypatch.setattr(_worker, "HEALTHY_S", 1e6)
    pool = await start_pool(exit_on="exit")
    for deaths in range(1, FREE_DEATHS + 8):
        replica = await leased(pool)
        await step(replica, "exit")
        pool.release(replica)
        await eventually(
            lambda deaths=deaths: pool.status().restarts == deaths and pool.status().ready_workers
        )
    assert pauses == [0.3, 0.6, 1.2, 2.4, 4.8, 5.0, 5.0], "the first deaths cost no pause"
    status = pool.status()
    assert status.failure == "worker 0 died 10 times in a row; it ended itself with exit status 70"
    assert not status.ready, "it is up, but not for long yet"


# -- what environments do to their process ----------------------------------------------------------


@pytest.mark.parametrize("fork", ["true", "false"])
async def test_what_an_environment_prints_is_log_and_never_protocol(
    fork: str, start_pool: Any, write_spec: Any, caplog: pytest.LogCaptureFixture, eventually: Any
) -> None:
    noisy = (
        "import os, sys\n"
        "print('module says hello'); os.write(1, b'raw one\\n'); os.write(2, b'\\xff\\xfe raw two\\n')\n"
        "sys.stderr.write('x' * 300_000 + '\\n')\n"
    ) + ENV.replace("return action", "print('stepped', action); return action")
    caplog.set_level(logging.INFO, "envhub.worker.probe")
    pool = await start_pool(write_spec(noisy, f"fork = {fork}\n"))
    assert (await step(await leased(pool), "a"))[0] == frames.OK
    for words in ("module says hello", "raw one", "raw two", "stepped a"):
        await eventually(lambda words=words: words in caplog.text)


async def test_a_failure_is_logged_as_a_warning_and_its_traceback_as_information(
    start_pool: Any, write_spec: Any, caplog: pytest.LogCaptureFixture, eventually: Any
) -> None:
    caplog.set_level(logging.INFO, "envhub.worker.probe")
    pool = await start_pool(write_spec(ENV.replace("return action", "return action.missing")))
    assert (await step(await leased(pool), "a"))[0] >= frames.FIRST_ERROR
    await eventually(lambda: "Traceback" in caplog.text)
    (warning,) = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert warning.startswith("step raised AttributeError: 'str' object has no attribute 'missing' (")
    assert "probe_env.py:" in warning


async def test_reading_standard_input_does_not_hang(start_pool: Any, write_spec: Any) -> None:
    pool = await start_pool(write_spec("import sys; sys.stdin.read()\n" + ENV))
    assert pool.status().ready


GRANDCHILD = "import subprocess; self.child = subprocess.Popen(['sleep', '1000']{})"


@pytest.mark.parametrize("fork", ["true", "false"])
async def test_grandchildren_end_with_the_pool(
    fork: str, start_pool: Any, write_spec: Any, processes: Any, eventually: Any
) -> None:
    spec = write_spec(ENV.replace("pass", GRANDCHILD.format("")), f"fork = {fork}\n")
    pool = await start_pool(spec, replicas=2)
    children = processes.descendants(pool._workers[0].pid)
    assert len(children) >= 2
    await pool.stop()
    await eventually(lambda: not any(map(processes.alive, children)))


async def test_a_grandchild_that_left_the_group_cannot_hold_up_the_end(
    start_pool: Any, write_spec: Any, processes: Any
) -> None:
    spec = write_spec(ENV.replace("pass", GRANDCHILD.format(", start_new_session=True")))
    pool = await start_pool(spec)
    (child,) = processes.descendants(pool._workers[0].pid)
    try:
        await pool.stop()
    finally:
        os.kill(child, signal.SIGKILL)


async def test_environments_are_closed_when_the_pool_stops(
    start_pool: Any, write_spec: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pool, "STOP_GRACE_S", 60.0)
    closing = f"    def close(self): open({str(tmp_path / 'closed')!r}, 'a').write('x')\n"
    pool = await start_pool(write_spec(ENV + closing), replicas=3)
    await pool.stop()
    assert (tmp_path / "closed").read_text() == "xxx"


async def test_an_environment_that_never_closes_is_killed(start_pool: Any, write_spec: Any) -> None:
    closing = "    def close(self):\n        import time\n        time.sleep(60)\n"
    pool = await start_pool(write_spec(ENV + closing))
    await asyncio.wait_for(pool.stop(), 60)


async def test_what_replicas_share_is_loaded_once(start_pool: Any, write_spec: Any, tmp_path: Any) -> None:
    source = (
        ENV.replace("self):", "self, *, shared):", 1)
        .replace("pass", "self.shared = shared")
        .replace('"start", {}', "self.shared, {}")
    )
    loading = (
        f"def load_shared(config):\n    open({str(tmp_path / 'loads')!r}, 'a').write('x')\n    return [7]\n"
    )
    pool = await start_pool(write_spec(loading + source), replicas=6, workers=2)
    for replica in await pool.acquire(6, 0):
        _, body = await replica.call(frames.RESET, RESET)
        assert json.loads(body)["observation"] == [7]
    assert (tmp_path / "loads").read_text() == "x"

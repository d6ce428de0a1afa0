"""Workers in interpreters of their own: any supported version, and nothing of the hub's within reach."""

import json
import os
import site
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envhub.pool import LoadFailed, _launch
from envhub.spec import HOST, Runtime
from envhub.worker import frames

VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13")
THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"
RESET = b'{"seed":1,"options":{}}'
DIGEST = "sha256:" + "0" * 64

LOOKS = """
import importlib.util, os, sys

class Env:
    def reset(self, *, seed=None, options=None):
        return "ready", {}

    def step(self, action):
        found = {name: importlib.util.find_spec(name) is not None for name in action}
        about = {
            "version": "%d.%d" % sys.version_info[:2], "prefix": sys.prefix, "path": sys.path,
            "flags": [sys.flags.isolated, sys.flags.no_user_site, sys.flags.ignore_environment],
        }
        return dict(about, found=found, environ=dict(os.environ)), 0.0, False, False, {}
"""


async def look(pool: Any, *names: str) -> dict[str, Any]:
    """What an environment in one of the pool's workers sees; which of the named modules it could import."""
    (replica,) = await pool.acquire(1, 0)
    assert (await replica.call(frames.RESET, RESET))[0] == frames.DONE
    code, body = await replica.call(frames.STEP, json.dumps(names).encode())
    assert code == frames.OK, body
    seen: dict[str, Any] = json.loads(body)["observation"]
    return seen


@pytest.mark.parametrize("version", VERSIONS)
async def test_workers_run_on_every_supported_python(
    start_pool: Any, write_spec: Any, empty_venv: Callable[[str], Path], version: str
) -> None:
    runtime = Runtime("conda", empty_venv(version), DIGEST)
    pool = await start_pool(write_spec(LOOKS), replicas=2, workers=2, runtime=runtime)
    seen = await look(pool)
    assert seen["version"] == version
    assert Path(seen["prefix"]) == runtime.python.parent.parent
    assert pool.description["python"].startswith(f"{version}.")


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_operation_works_on_every_supported_python(
    start_pool: Any, empty_venv: Callable[[str], Path], version: str
) -> None:
    runtime = Runtime("conda", empty_venv(version), DIGEST)
    pool = await start_pool("echo", replicas=2, runtime=runtime, fail_on="fail")
    one, two = await pool.acquire(2, 0)
    for replica in (one, two):
        assert (await replica.call(frames.RESET, RESET))[0] == frames.DONE
    assert (await one.call(frames.STEP, b'"said"'))[0] == frames.OK
    assert await one.call(frames.RENDER) == (frames.TEXT, b"said")
    code, state = await one.call(frames.GET_STATE)
    assert code == frames.DONE
    assert (await two.call(frames.SET_STATE, state))[0] == frames.DONE
    assert await two.call(frames.RENDER) == (frames.TEXT, b"said")
    code, failure = await one.call(frames.STEP, b'"fail"')
    assert code == frames.ERROR_CODES["environment_error"] and b"EchoFault" in failure

    pool = await start_pool("echo", runtime=runtime, hang_on="hang", step_timeout_s=0.2)
    (replica,) = await pool.acquire(1, 0)
    assert (await replica.call(frames.RESET, RESET))[0] == frames.DONE
    assert (await replica.call(frames.STEP, b'"hang"'))[0] == frames.ERROR_CODES["step_timeout"]


async def test_nothing_of_the_hub_can_be_imported(
    start_pool: Any,
    write_spec: Any,
    empty_venv: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python = empty_venv(THIS)
    users = tmp_path / "user" / "lib" / f"python{THIS}" / "site-packages"
    for folder in (tmp_path / "cwd", tmp_path / "named", users):
        folder.mkdir(parents=True)
        (folder / f"of_{folder.name.replace('-', '_')}.py").touch()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "named"))
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "user"))
    planted = ("of_cwd", "of_named", "of_site_packages")
    hubs = ("envhub", "envhub_sdk", "msgspec", "gymnasium", "pytest", "frames", "template")

    pool = await start_pool(write_spec(LOOKS), runtime=Runtime("venv", python, DIGEST))
    seen = await look(pool, *planted, *hubs, "probe_env", "json")
    assert [name for name, found in seen["found"].items() if found] == ["probe_env", "json"]
    assert seen["flags"] == [1, 1, 1]
    hubs_folders = {*site.getsitepackages(), str(Path(_launch.__file__).parents[2])}
    assert not hubs_folders & set(seen["path"])

    pool = await start_pool(write_spec(LOOKS, name="hosted"), runtime=HOST)
    seen = await look(pool, *planted, *hubs)
    assert seen["found"]["of_named"] and seen["found"]["msgspec"], "on the host: what the hub can import"
    assert not seen["found"]["of_cwd"] and not seen["found"]["frames"]


async def test_variables_of_the_hubs_interpreter_stay_out(
    start_pool: Any, write_spec: Any, empty_venv: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    python = empty_venv(THIS)
    home = str(python.parent.parent)
    monkeypatch.setenv("PATH", f"/hub/venv/bin{os.pathsep}/usr/bin{os.pathsep}/hub/conda/bin")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/hub/conda/lib{os.pathsep}/opt/driver")
    monkeypatch.setenv("VIRTUAL_ENV", "/hub/venv")
    monkeypatch.setenv("CONDA_PREFIX", "/hub/conda")
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "hub")
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    monkeypatch.setenv("KEPT", "yes")
    pool = await start_pool(write_spec(LOOKS), runtime=Runtime("conda", python, DIGEST))
    environ = (await look(pool))["environ"]
    assert environ["PATH"] == f"{home}/bin{os.pathsep}/usr/bin"
    assert environ["LD_LIBRARY_PATH"] == "/opt/driver"
    assert (environ["CONDA_PREFIX"], environ["KEPT"]) == (home, "yes")
    assert not {"VIRTUAL_ENV", "CONDA_DEFAULT_ENV", "PYTHONHOME", "PYTHONWARNINGS"} & set(environ)
    named = _launch.variables(Runtime("venv", python, DIGEST), {})
    assert named["VIRTUAL_ENV"] == home and "CONDA_PREFIX" not in named


async def test_an_interpreter_that_is_gone_is_named_with_the_way_to_make_it(
    start_pool: Any, write_spec: Any, tmp_path: Path
) -> None:
    runtime = Runtime("conda", tmp_path / "gone" / "bin" / "python", DIGEST, mend="build it anew")
    spec = write_spec(LOOKS)
    with pytest.raises(LoadFailed, match=r"probe: its interpreter .*gone/bin/python can't be") as said:
        await start_pool(spec, runtime=runtime)
    assert str(said.value).endswith("; build it anew")


async def test_what_fails_to_load_where_something_was_built_names_the_way_to_make_it(
    start_pool: Any, write_spec: Any, empty_venv: Callable[[str], Path]
) -> None:
    runtime = Runtime("conda", empty_venv(THIS), DIGEST, mend="build it anew")
    with pytest.raises(LoadFailed, match="No module named 'nowhere'") as said:
        await start_pool(write_spec("import nowhere\n"), runtime=runtime)
    assert str(said.value).endswith(f"It runs in {runtime.python.parent.parent}: build it anew")

"""Finding specs: bundled ones, folders, installed plug-ins and Gymnasium's own environments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

import envhub
from envhub.spec._errors import SpecError, SpecInvalid, SpecNotFound, listed, nearest
from envhub.spec._load import FILE_NAME, load
from envhub.spec._model import Channel, ConfigKey, Spec

PLUGIN_GROUP = "envhub.specs"
GYMNASIUM_PREFIX = "gymnasium:"


def find(ref: str) -> Spec:
    """Find the spec that a reference means.

    Args:
        ref: The name of a bundled spec; the path of a spec's folder (anything with a "/", or a folder
            that exists); the name of an installed plug-in (entry point group `envhub.specs`); or
            `gymnasium:ID` for any registered Gymnasium environment.

    Raises:
        SpecNotFound: nothing answers to the reference; the message has the nearest name.
        SpecInvalid: what answers is not a valid spec.
    """
    if ref.startswith(GYMNASIUM_PREFIX):
        return _gymnasium(ref.removeprefix(GYMNASIUM_PREFIX))
    folders = _bundled_folders()
    if ref in folders:
        return load(folders[ref])
    if "/" in ref or Path(ref).is_dir():
        if not Path(ref).is_dir():
            beside = [file.parent.name for file in Path(ref).parent.glob(f"*/{FILE_NAME}")]
            hint = nearest(Path(ref).name, beside)
            raise SpecNotFound(f"no spec folder at {ref!r}: there is no such folder{hint}")
        return load(Path(ref))
    plugins = _plugins()
    if ref in plugins:
        return _load_plugin(plugins[ref])
    known = sorted({*folders, *plugins})
    raise SpecNotFound(
        f"no spec named {ref!r}{nearest(ref, known)}; available: {listed(known)}. "
        f"A path to a folder with an {FILE_NAME} (write ./{ref}) and {GYMNASIUM_PREFIX}ID work too"
    )


def bundled() -> list[Spec]:
    """Return the specs that come with EnvHub, by name."""
    return [load(folder) for folder in _bundled_folders().values()]


def available(on_error: Callable[[SpecError], None] | None = None) -> list[Spec]:
    """Return every spec that can be served by its name: bundled ones, then installed plug-ins.

    Args:
        on_error: Called with what is wrong with a spec that cannot be loaded, which is then left out.
            Without it the first such error is raised.
    """
    folders = _bundled_folders()
    loaders = [partial(load, folder) for folder in folders.values()]
    loaders += [partial(_load_plugin, plugin) for name, plugin in _plugins().items() if name not in folders]
    specs: list[Spec] = []
    for loader in loaders:
        try:
            specs.append(loader())
        except SpecError as error:
            if on_error is None:
                raise
            on_error(error)
    return specs


def reference(spec: Spec) -> str:
    """Return what a command finds a spec by: its name where it is bundled, else its folder, if it has one."""
    if spec.path is None or _bundled_folders().get(spec.name) == spec.path:
        return spec.name
    return str(spec.path)


def _bundled_folders() -> dict[str, Path]:
    """Bundled specs lie beside the package, in a checkout and in the installed wheel alike."""
    root = Path(envhub.__file__).resolve().parent.parent / "env_specs"
    return {file.parent.name: file.parent for file in sorted(root.glob(f"*/{FILE_NAME}"))}


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=PLUGIN_GROUP), key=lambda p: p.name)}


def _load_plugin(point: EntryPoint) -> Spec:
    owner = f"plug-in {point.name!r} ({point.value}, of {point.dist.name if point.dist else 'unknown'})"
    try:
        target = point.load()
    except Exception as reason:
        raise SpecInvalid(f"{owner}: cannot be imported: {type(reason).__name__}: {reason}") from reason
    if isinstance(target, ModuleType) and target.__file__:
        target = Path(target.__file__).parent
    if not isinstance(target, str | Path):
        raise SpecInvalid(f"{owner}: must be a folder's path or a module beside {FILE_NAME}, not {target!r}")
    spec = load(Path(target))
    if spec.name != point.name:
        raise SpecInvalid(f"{owner}: its {FILE_NAME} has the name {spec.name!r}; both names must be the same")
    return spec


def _gymnasium(env_id: str) -> Spec:
    """Make the spec of a registered Gymnasium environment; `module:ID` imports the module first."""
    if ":" not in env_id:  # with a module prefix only the worker imports the module, so only it can tell
        _check_registered(env_id)
    return Spec(
        name=env_id.replace("/", ".").replace(":", "."),
        version="1.0.0",
        summary=f"Gymnasium's {env_id}",
        entry_point="gymnasium:make",
        fork=False,
        config={
            "id": ConfigKey("str", env_id, choices=(env_id,), help="the registered id"),
            "disable_env_checker": ConfigKey("bool", True, help="leave out Gymnasium's passive checker"),
        },
        open_config=True,
        action=Channel("an element of the environment's action space"),
        observation=Channel("an element of the environment's observation space"),
    )


def _check_registered(env_id: str) -> None:
    import gymnasium

    try:
        gymnasium.spec(env_id)
    except gymnasium.error.Error as reason:
        raise SpecNotFound(
            f"{GYMNASIUM_PREFIX}{env_id}: {reason} "
            f"(where a module registers the id: {GYMNASIUM_PREFIX}MODULE:{env_id})"
        ) from reason

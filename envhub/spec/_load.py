"""Reading a spec from its folder's `envhub.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import cast, get_args

from envhub.spec._errors import SpecInvalid, listed, nearest
from envhub.spec._model import LIMIT_NAMES, Artifact, Channel, ConfigKey, DataFile, Limits, Spec
from envhub.spec._python import OLDEST_PYTHON, complaint_about_python
from envhub.spec._space import complaint_about
from envhub.spec._table import Table
from envhub.spec._values import CONFIG_TYPES, ConfigType, ConfigValue, typed

FILE_NAME = "envhub.toml"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ENTRY_POINT = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def load(folder: Path) -> Spec:
    """Read the spec that a folder holds.

    Raises:
        SpecInvalid: there is no `envhub.toml`, or it does not declare a spec.
    """
    folder = folder.resolve()
    if not (folder / FILE_NAME).is_file():
        raise SpecInvalid(f"{folder}: no {FILE_NAME} here; `envhub new NAME` writes a working one")
    root = Table.read(folder / FILE_NAME)
    config = _config(root)
    spec = Spec(
        name=_matching(root, "name", _NAME, "up to 64 letters, digits, '.', '_' and '-'"),
        version=root.value("version", str),
        summary=root.value("summary", str),
        entry_point=_matching(root, "entry_point", _ENTRY_POINT, 'of the form "module:Class"'),
        path=folder,
        fork=root.value("fork", bool, True),
        replayable=root.value("replayable", bool, True),
        replicas_per_worker=_replicas_per_worker(root),
        config=config,
        action=_channel(root, "action"),
        observation=_channel(root, "observation"),
        splits=root.strings("splits"),
        limits=_limits(root),
        data=tuple(_data_file(table) for table in root.tables("data")),
        artifacts=_artifacts(root, config),
        requires_python=_requires_python(root),
    )
    root.finish()
    return spec


def _replicas_per_worker(root: Table) -> int | None:
    most = root.optional("replicas_per_worker", int)
    if most is not None and most < 1:
        raise root.fail("replicas_per_worker", f"{most} must be at least 1")
    return most


def _matching(table: Table, key: str, pattern: re.Pattern[str], form: str) -> str:
    text = table.value(key, str)
    if not pattern.fullmatch(text):
        raise table.fail(key, f"{text!r} must be {form}")
    return text


def _requires_python(root: Table) -> str:
    specifier = root.value("requires_python", str, OLDEST_PYTHON)
    complaint = complaint_about_python(specifier)
    if complaint:
        raise root.fail("requires_python", complaint)
    return specifier


def _config(root: Table) -> dict[str, ConfigKey]:
    config = root.table("config")
    if config is None:
        return {}
    return {name: _config_key(config, name) for name in config.keys()}


def _config_key(config: Table, name: str) -> ConfigKey:
    table = config.table(name)
    if table is None or not name.isidentifier():
        raise config.fail(name, "a setting's name must be a Python identifier: it becomes an argument")
    if name in LIMIT_NAMES:
        raise config.fail(name, "is the name of a limit; set it under [limits] or choose another name")
    kind = table.value("type", str)
    if kind not in get_args(ConfigType):
        raise table.fail(
            "type", f"{kind!r} is no type{nearest(kind, CONFIG_TYPES)}; types: {listed(CONFIG_TYPES)}"
        )
    kind = cast(ConfigType, kind)
    choices: list[object] = table.value("choices", list, [])
    key = ConfigKey(
        type=kind,
        default=_declared(table, "default", table.any("default"), kind),
        choices=tuple(_declared(table, "choices", item, _item_type(kind)) for item in choices),
        help=table.value("help", str, ""),
    )
    try:
        key.convert(key.default)
    except ValueError as reason:
        raise table.fail("default", str(reason)) from reason
    table.finish()
    return key


def _item_type(kind: ConfigType) -> ConfigType:
    if kind == "list[str]":
        return "str"
    return "int" if kind == "list[int]" else kind


def _declared(table: Table, key: str, value: object, kind: ConfigType) -> ConfigValue:
    """Check a value written in the file, where a string counts as a string only."""
    if isinstance(value, str) and kind != "str":
        raise table.fail(key, f"{value!r} is a string but the type is {kind}")
    try:
        return typed(value, kind)
    except ValueError as reason:
        raise table.fail(key, str(reason)) from reason


def _channel(root: Table, key: str) -> Channel:
    table = root.table(key)
    if table is None:
        raise root.fail(key, f'missing; write [{key}] with description = "…" for the agent to read')
    space = table.optional("space", dict)
    complaint = complaint_about(space) if space is not None else None
    if complaint:
        raise table.fail("space", complaint)
    channel = Channel(description=table.value("description", str), space=space)
    table.finish()
    return channel


def _limits(root: Table) -> Limits:
    limits = Limits()
    table = root.table("limits")
    if table is None:
        return limits
    for name in LIMIT_NAMES:
        kind = int if name == "max_episode_steps" else float
        value = table.value(name, kind, getattr(limits, name))
        try:
            limits = limits.replaced(name, value)
        except ValueError as reason:
            raise table.fail(name, str(reason)) from reason
    table.finish()
    return limits


def _data_file(table: Table) -> DataFile:
    source = table.value("source", str)
    if source != "bundled" and not source.startswith("https://"):
        raise table.fail("source", f'{source!r} must be "bundled" or an https:// address')
    size = table.value("size", int)
    if size < 0:
        raise table.fail("size", f"{size} is no number of bytes")
    data_file = DataFile(
        name=table.value("name", str),
        size=size,
        sha256=_matching(table, "sha256", _SHA256, "64 lower-case hexadecimal digits"),
        source=source,
    )
    table.finish()
    return data_file


def _artifacts(root: Table, config: Mapping[str, ConfigKey]) -> tuple[Artifact, ...]:
    artifacts: list[Artifact] = []
    for table in root.tables("artifact"):
        name = _matching(table, "name", _NAME, "up to 64 letters, digits, '.', '_' and '-'")
        if name in [one.name for one in artifacts]:
            raise table.fail("name", f"{name!r} is the name of another artifact")
        setting = table.optional("setting", str)
        if setting is not None and (setting not in config or config[setting].type != "str"):
            raise table.fail(
                "setting", f"{setting!r} must be a setting of the type str; declare [config.{setting}]"
            )
        artifact = Artifact(
            name=name,
            run=_words(table, "run", required=True),
            inputs=_words(table, "inputs", required=True),
            archives=_words(table, "archives"),
            lock=_words(table, "lock"),
            setting=setting,
            help=table.value("help", str, ""),
        )
        for path in artifact.inputs:
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                raise table.fail("inputs", f"{path!r} must lie inside the spec's folder")
        table.finish()
        artifacts.append(artifact)
    return tuple(artifacts)


def _words(table: Table, key: str, *, required: bool = False) -> tuple[str, ...]:
    words = table.value(key, list) if required else table.value(key, list, [])
    if not all(isinstance(word, str) for word in words) or (required and not words):
        raise table.fail(key, "must be an array of strings")
    return tuple(words)

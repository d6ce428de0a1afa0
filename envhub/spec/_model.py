"""What a spec is: the declared environment, and the same one with its settings filled in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envhub.spec._errors import ConfigError, listed, nearest
from envhub.spec._python import OLDEST_PYTHON
from envhub.spec._runtime import HOST, Runtime
from envhub.spec._values import ConfigType, ConfigValue, from_toml_text, typed


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One setting of a spec: its type, its default and, where only some values make sense, which."""

    type: ConfigType
    default: ConfigValue
    choices: tuple[ConfigValue, ...] = ()
    help: str = ""

    def convert(self, value: object) -> ConfigValue:
        """Return the value in the declared type; a string is parsed to it.

        Raises:
            ValueError: the value is not of the type or not among the choices.
        """
        result = typed(value, self.type)
        for item in result if isinstance(result, list) else [result]:
            if self.choices and item not in self.choices:
                hint = nearest(str(item), map(str, self.choices))
                raise ValueError(f"{item!r} is not a choice{hint}; allowed: {listed(self.choices)}")
        return result


@dataclass(frozen=True, slots=True)
class Channel:
    """What goes into an environment or comes out of it.

    `space` is the space in its wire form, or None: then the environment object's own space is used.
    """

    description: str = ""
    space: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What the worker enforces around the environment. Times are seconds; 0 steps means no limit."""

    max_episode_steps: int = 0
    step_timeout_s: float = 10.0
    reset_timeout_s: float = 30.0
    load_timeout_s: float = 60.0

    def replaced(self, key: str, value: object) -> Limits:
        """Return these limits with one of them changed; a string is parsed.

        Raises:
            ValueError: the value is not a number, or below what the limit may be.
        """
        if key == "max_episode_steps":
            steps = typed(value, "int")
            if not isinstance(steps, int) or steps < 0:
                raise ValueError(f"{value!r} is below 0 (0 means no limit)")
            return dataclasses.replace(self, max_episode_steps=steps)
        seconds = typed(value, "float")
        if not isinstance(seconds, float) or not 0 < seconds < float("inf"):
            raise ValueError(f"{value!r} is not a positive number of seconds")
        changed: dict[str, Any] = {key: seconds}
        return dataclasses.replace(self, **changed)


LIMIT_NAMES: tuple[str, ...] = tuple(limit.name for limit in dataclasses.fields(Limits))


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file an environment needs: its size in bytes, its SHA-256 and where it comes from.

    `source` is "bundled" (then `name` is a path inside the spec's folder) or an https address.
    """

    name: str
    size: int
    sha256: str
    source: str


@dataclass(frozen=True, slots=True)
class Artifact:
    """A folder that a spec's own program makes, too large or too slow to make for the spec to hold it.

    Attributes:
        name: What it is called.
        run: The command that makes it.
        inputs: The files of the spec that it is made of, relative to its folder; the digest is over them.
        archives: The command that says what has to be fetched first; empty where nothing has.
        lock: The command that makes the inputs anew; empty where people write them.
        setting: The setting that is given its path where it is left at its default; None: none is.
        help: What it is and costs, in one line.
    """

    name: str
    run: tuple[str, ...]
    inputs: tuple[str, ...]
    archives: tuple[str, ...] = ()
    lock: tuple[str, ...] = ()
    setting: str | None = None
    help: str = ""


@dataclass(frozen=True, slots=True)
class Spec:
    """The declared environment.

    Attributes:
        name: What `--env` and the API call it.
        version: The author's version of the environment.
        summary: One line about it.
        entry_point: The environment's class or factory as "module:callable".
        path: The folder that goes on the worker's `sys.path`; None where the environment is installed.
        fork: Whether a template may fork workers after it has loaded what they share.
        replayable: Whether the same seed, task and actions lead to the same point, so that an episode can go
            on in another worker when its own dies.
        replicas_per_worker: How many may share a worker, which plays one step at a time, where nobody says
            how many workers there are; None: any number.
        config: The settings by name.
        open_config: Whether settings beyond `config` are passed on to the entry point as well.
        action: What a step takes.
        observation: What reset and step return.
        splits: Task splits by name, each with one line about it; the first is the default.
        limits: What the worker enforces.
        data: The files the environment needs.
        artifacts: What `envhub build` makes for it, beside an interpreter.
        requires_python: The interpreters the code runs on, as a PEP 440 specifier.
    """

    name: str
    version: str
    summary: str
    entry_point: str
    path: Path | None = None
    fork: bool = True
    replayable: bool = True
    replicas_per_worker: int | None = None
    config: Mapping[str, ConfigKey] = field(default_factory=dict)
    open_config: bool = False
    action: Channel = Channel()
    observation: Channel = Channel()
    splits: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    data: tuple[DataFile, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    requires_python: str = OLDEST_PYTHON

    def resolve(self, overrides: Mapping[str, object] | None = None) -> ServedSpec:
        """Fill in the settings: the defaults, changed by the overrides.

        Args:
            overrides: Values by configuration key or by limit. A string is parsed to the declared type
                (`"true"`, `"3"`, `"[1, 2]"` or `"1,2"`); other values must already have it.

        Raises:
            ConfigError: a key the spec does not have, or a value the key does not take.
        """
        values: dict[str, Any] = {name: key.convert(key.default) for name, key in self.config.items()}
        limits = self.limits
        for name, value in (overrides or {}).items():
            try:
                if name in self.config:
                    values[name] = self.config[name].convert(value)
                elif name in LIMIT_NAMES:
                    limits = limits.replaced(name, value)
                elif self.open_config and name.isidentifier():
                    values[name] = from_toml_text(value) if isinstance(value, str) else value
                else:
                    raise self._unknown(name)
            except ValueError as reason:
                raise ConfigError(f"spec {self.name!r}, setting {name!r}: {reason}") from reason
        return ServedSpec(self, values, limits)

    def _unknown(self, name: str) -> ConfigError:
        known: Iterable[str] = (*self.config, *LIMIT_NAMES)
        return ConfigError(
            f"spec {self.name!r} has no setting {name!r}{nearest(name, known)}; "
            f"its settings: {listed(self.config)}; its limits: {listed(LIMIT_NAMES)}"
        )


@dataclass(frozen=True, slots=True)
class ServedSpec:
    """A spec with every setting decided: what a pool is started with.

    Attributes:
        spec: The declaration.
        config: The value of every declared setting, ready to be passed to the entry point.
        limits: The limits in force.
        runtime: What its workers run in.
    """

    spec: Spec
    config: Mapping[str, Any]
    limits: Limits
    runtime: Runtime = HOST

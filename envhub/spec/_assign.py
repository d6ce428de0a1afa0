"""What `--env NAME[=REPLICAS]`, `--set SPEC.KEY=VALUE` and `--isolation [SPEC=]WANTED` say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast, get_args

from envhub.spec._errors import SettingsInvalid, listed, nearest
from envhub.spec._runtime import Wanted


@dataclass(frozen=True, slots=True)
class EnvArgument:
    """One `--env`: which spec, and how many replicas of it (None: the command's own default)."""

    ref: str
    replicas: int | None = None

    @classmethod
    def parse(cls, text: str) -> EnvArgument:
        """Read `webshop`, `webshop=64`, `./my-env=4` or `gymnasium:CartPole-v1=8`.

        Raises:
            SettingsInvalid: no name, or a number of replicas that is not a positive integer.
        """
        ref, equals, count = text.rpartition("=")
        if not equals or "/" in count:  # the "=" belongs to a folder's name
            ref, count = text, ""
        if not ref:
            raise SettingsInvalid(f"--env {text!r}: no spec is named; write NAME or NAME=REPLICAS")
        if ref == text:
            return cls(ref)
        if not count.isascii() or not count.isdigit() or int(count) < 1:
            raise SettingsInvalid(f"--env {text!r}: {count!r} is not a number of replicas (1 or more)")
        return cls(ref, int(count))


@dataclass(frozen=True, slots=True)
class Assignment:
    """One `--set`: a spec's setting and the text that is to be its value."""

    spec: str
    key: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Assignment:
        """Read `webshop.mode=faithful`. The spec's name may have dots, the key has none.

        Raises:
            SettingsInvalid: the text has not that form.
        """
        target, equals, value = text.partition("=")
        spec, dot, key = target.rpartition(".")
        if not (equals and dot and spec and key):
            raise SettingsInvalid(f"--set {text!r}: write SPEC.KEY=VALUE, as in webshop.mode=faithful")
        return cls(spec, key, value)


@dataclass(frozen=True, slots=True)
class IsolationArgument:
    """One `--isolation`: what is wanted, and of which spec (None: of all)."""

    wanted: Wanted
    spec: str | None = None

    @classmethod
    def parse(cls, text: str) -> IsolationArgument:
        """Read `conda` or `webshop=conda`.

        Raises:
            SettingsInvalid: no such isolation.
        """
        spec, _, wanted = text.rpartition("=")
        complaint = complaint_about_isolation(wanted)
        if complaint:
            raise SettingsInvalid(f"--isolation {text!r}: {complaint}")
        return cls(cast(Wanted, wanted), spec or None)


def complaint_about_isolation(text: str) -> str | None:
    """Return what is wrong with an isolation that is asked for, or None."""
    choices = get_args(Wanted)
    return None if text in choices else f"{text!r} is none of {listed(choices)}{nearest(text, choices)}"


def isolations_of(arguments: Iterable[IsolationArgument], names: Iterable[str]) -> dict[str, Wanted | None]:
    """Return what is wanted by spec name, None where nothing is said; one that names a spec wins.

    Raises:
        SettingsInvalid: an argument names a spec that is not among the names, or two contradict each other.
    """
    wanted: dict[str, Wanted | None] = dict.fromkeys(names)
    said: dict[str | None, Wanted] = {}
    for argument in arguments:
        before = said.setdefault(argument.spec, argument.wanted)
        if before != argument.wanted:
            of = f"{argument.spec}=" if argument.spec else ""
            raise SettingsInvalid(
                f"--isolation {of}{before} and --isolation {of}{argument.wanted} contradict each other: "
                "leave one out, or say which spec it is for, as in --isolation SPEC=conda"
            )
    for argument in sorted(arguments, key=lambda one: one.spec is not None):
        if argument.spec is None:
            wanted = dict.fromkeys(wanted, argument.wanted)
        elif argument.spec in wanted:
            wanted[argument.spec] = argument.wanted
        else:
            raise SettingsInvalid(
                f"--isolation {argument.spec}={argument.wanted}: no spec {argument.spec!r} is served"
                f"{nearest(argument.spec, wanted)}; served: {listed(wanted)}"
            )
    return wanted


def settings_of(assignments: Iterable[Assignment], names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the assignments as settings by spec name.

    Raises:
        SettingsInvalid: an assignment to a spec that is not among the names, or two that contradict
            each other.
    """
    settings: dict[str, dict[str, str]] = {name: {} for name in names}
    for assignment in assignments:
        if assignment.spec not in settings:
            hint = nearest(assignment.spec, settings)
            raise SettingsInvalid(
                f"--set {assignment.spec}.{assignment.key}: no spec {assignment.spec!r} is served{hint}; "
                f"served: {listed(settings)}"
            )
        before = settings[assignment.spec].setdefault(assignment.key, assignment.value)
        if before != assignment.value:
            key = f"{assignment.spec}.{assignment.key}"
            raise SettingsInvalid(
                f"--set {key}={before} and --set {key}={assignment.value} contradict each other: "
                f"leave one out; a list is written as one, as in --set {key}=A,B"
            )
    return settings

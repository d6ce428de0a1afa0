"""What an interactive bash holds: how it says it, and the script that gives it to a fresh one.

All is asked of the shell itself, by builtins alone, so no process starts and no variable is set. Where the
agent has put functions in their place, or changed what bash says by options, the answer does not add up or
another shell does not become like it: then nothing is saved.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from .settings import NotAtRest

MAX_BYTES = 1 << 20
"""More a shell may not hold."""

_QUESTIONS = {
    "number": "builtin echo $LINENO",
    "flags": "builtin echo $-",
    "beside": r'builtin echo $# "${!-}"',
    "names": "builtin compgen -v",
    "variables": "builtin declare -p",
    "functions": "builtin declare -f",
    "attributes": "builtin declare -F",
    "aliases": "builtin alias -p",
    "options": "builtin set +o",
    "switches": "builtin shopt -p",
    "traps": "builtin trap -p",
    "mask": "builtin umask -p",
    "places": "builtin hash -l",
    "completions": "builtin complete -p",
    "disabled": "builtin enable -n",
    "folders": "builtin dirs -p -l",
    "directory": "builtin pwd -P",
    "history": "[[ ! -o history ]] || builtin history -w /dev/stdout",
}
_OWN = frozenset(
    """
    BASH BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_LINENO
    BASH_MONOSECONDS BASH_SOURCE BASH_SUBSHELL BASH_TRAPSIG BASH_VERSINFO BASH_VERSION COMP_WORDBREAKS
    DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD LINENO PIPESTATUS PPID RANDOM SECONDS
    SHELLOPTS SRANDOM UID _
    """.split()
)
"""Variables that bash makes itself, or that nobody can set."""
_FRESH = frozenset(
    """
    BASH_LOADABLES_PATH COLUMNS HISTFILE HISTFILESIZE HISTSIZE HOME HOSTNAME HOSTTYPE IFS LANG LINES LOGNAME
    MACHTYPE MAILCHECK OLDPWD OPTERR OPTIND OSTYPE PATH PROMPT_COMMAND PS1 PS2 PS4 PWD SHELL SHLVL TERM USER
    """.split()
)
"""Variables that a fresh bash may have, besides."""
_FIXED = re.compile("login_shell|restricted_shell|-u compat")
_VARIABLE = re.compile(r"^declare (-[-aAcilnrtux]+) ([A-Za-z_]\w*)(=|$)")
_UNTOLD = re.compile(r"^trap -- .* (DEBUG|ERR|RETURN)$", re.MULTILINE)


def question(token: str) -> bytes:
    """The line that has a shell say what it holds, and forget that it was asked."""
    parts = "; ".join(f"{ask} || builtin :; builtin printf '\\0'" for ask in _QUESTIONS.values())
    begin = f"builtin printf '\\e]9;{token};0\\a'"
    line = f"{begin}; {{ [[ ! -o history ]] || builtin history -d -1; {parts}; }} 2> /dev/null\n"
    return line.replace("builtin", "\\builtin").encode()


@dataclass(frozen=True)
class Held:
    """What a shell holds, as it says it; bytes that are no UTF-8 are kept.

    Attributes:
        line: The number of the line in which it was asked.
        variables: How each is declared, by name.
        parts: The answers to the other questions.
    """

    line: int
    variables: dict[str, str]
    parts: dict[str, str]

    @classmethod
    def read(cls, shown: bytes) -> Held:
        """Reads the answers to `question`.

        Raises:
            NotAtRest: They don't add up, or tell of what can't be given to another shell.
        """
        answers = shown.decode("latin-1").split("\0")
        if len(answers) != len(_QUESTIONS) + 1:
            raise NotAtRest("the shell does not say what it holds")
        parts = dict(zip(_QUESTIONS, answers))
        names = set(parts.pop("names").split())
        variables = _variables(parts.pop("variables"))
        declared = {name for name, line in variables.items() if "=" in line}
        if not declared <= names - _OWN <= set(variables):
            raise NotAtRest("the shell's variables don't add up")
        if set(parts["flags"]) & set("xvn"):
            raise NotAtRest("the shell shows what it reads or runs")
        if parts.pop("beside") != "0 \n":
            raise NotAtRest("the shell has arguments, or has started something in the background")
        if parts["disabled"].strip() or _UNTOLD.search(parts["traps"]):
            raise NotAtRest("the shell's builtins are disabled, or it traps its own commands")
        if "HISTIGNORE" in variables:
            raise NotAtRest("the shell's history leaves lines out")
        return cls(int(parts.pop("number")), variables, parts)

    def difference(self, other: Held) -> str:
        """Says in what another shell is different; "" where it is not."""
        for name in sorted({*self.variables, *other.variables}):
            if self.variables.get(name) != other.variables.get(name):
                return f"variable {name} is {other.variables.get(name)!r:.200}"
        for name, part in self.parts.items():
            if part != other.parts[name]:
                return f"its {name} are {other.parts[name]!r:.200}"
        return ""

    def script(self) -> bytes:
        """Makes a fresh shell hold the same, when it is about to show its first prompt."""
        part = {name: text.split("\n")[:-1] for name, text in self.parts.items()}
        lines = [f"builtin history -s -- {shlex.quote(line)}" for line in part["history"]]
        lines.append(" ".join(["unset -v", *sorted(_FRESH - set(self.variables))]))
        first, *below = part["folders"]
        lines.append(f"cd -- {shlex.quote(first)}")
        lines += [f"pushd -n -- {shlex.quote(folder)}" for folder in reversed(below)]
        lines += [f"unset -v {name}\n{line}" for name, line in self.variables.items()]
        lines += [line for line in part["switches"] if not _FIXED.search(line)]
        lines += part["functions"]
        lines += [line for line in part["attributes"] if not line.startswith("declare -f ")]
        lines += [line for line in part["places"] if line.startswith("builtin hash ")]
        for name in ("completions", "mask", "aliases", "traps"):
            lines += part[name]
        notes = "set -o history"  # from then on lines are noted
        lines += sorted(part["options"], key=notes.__eq__)
        return "\n".join([*lines, ""]).encode("latin-1")


def _variables(text: str) -> dict[str, str]:
    """The declarations of `declare -p` by name; a value may go over lines."""
    found: dict[str, str] = {}
    name = ""
    for line in text.split("\n")[:-1]:
        declared = _VARIABLE.match(line)
        if declared:
            name = declared[2]
            found[name] = line
        elif name:
            found[name] += "\n" + line
    return {name: line for name, line in found.items() if name not in _OWN}

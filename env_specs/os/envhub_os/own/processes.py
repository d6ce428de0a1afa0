"""Tasks about running programs."""

from __future__ import annotations

from envhub_os.own.draw import Draw
from envhub_os.own.programs import QUIET, running, sleeper, with_programs
from envhub_os.own.template import Family, Made
from envhub_os.task import Answer, Fact, File, Setup, Solution, State

FAMILY = Family("processes")
template = FAMILY.template


def _pid(name: str) -> str:
    """Bash that finds a sleeper."""
    return f"$(pgrep -f '^{name} 1000000')"


def _running(starts: list[str], names: list[str], after: str = "", files: tuple[File, ...] = ()) -> Setup:
    """A setup that starts programs, waits until sleepers of these names run, and does what comes after."""
    return with_programs(f"{running(starts, names)}\n{after}", files)


@template(level=1)
def stop_one(draw: Draw) -> Made:
    """End one of several programs."""
    names = [f"{word}-worker" for word in draw.words(6)]
    chosen, *others = draw.shuffled(names)
    return Made(
        f"The program {chosen} runs wild. End it, and leave all other programs running.",
        _running([sleeper(name) for name in names], names),
        State(
            (
                Fact("running", {"text": f"{chosen} 1000000"}, 0),
                *(Fact("running", {"text": f"{name} 1000000"}, 1) for name in others),
            )
        ),
        Solution((f"kill {_pid(chosen)}",)),
    )


@template(level=2)
def environment(draw: Draw) -> Made:
    """A variable of a running program."""
    names, variable = [f"{word}-agent" for word in draw.words(5)], f"{draw.word().upper()}_KEY"
    keys = {name: draw.token() for name in names}
    chosen = draw.choice(names)
    starts = [sleeper(name, f"export {variable}={key}; ") for name, key in keys.items()]
    return Made(
        f"The program {chosen} is running. What is the value of {variable} in its environment?",
        _running(starts, names),
        Answer(keys[chosen], "string"),
        Solution((f"tr '\\0' '\\n' < /proc/{_pid(chosen)}/environ | grep '^{variable}=' | cut -d= -f2",)),
    )


@template(level=2)
def open_file(draw: Draw) -> Made:
    """Which file a program keeps open."""
    root, names = f"/var/lib/{draw.word()}", [f"{word}-writer" for word in draw.words(4)]
    paths = {name: f"{root}/{draw.token()}.db" for name in names}
    chosen = draw.choice(names)
    starts = [f"mkdir -p {root}", *(sleeper(name, f"exec 7> {path}; ") for name, path in paths.items())]
    return Made(
        f"The program {chosen} is running and keeps one file below /var/lib open. What is the file's full "
        "path?",
        _running(starts, names),
        Answer(paths[chosen], "string"),
        Solution((f"readlink /proc/{_pid(chosen)}/fd/7",)),
    )


@template(level=2)
def working_folder(draw: Draw) -> Made:
    """Where a program runs."""
    names = [f"{word}-job" for word in draw.words(4)]
    folders = {name: f"/srv/{draw.word()}/{draw.token()}" for name in names}
    chosen = draw.choice(names)
    starts = [f"mkdir -p {path}\n{sleeper(name, f'cd {path}; ')}" for name, path in folders.items()]
    return Made(
        f"The program {chosen} is running. What is its current working directory? Answer with the full path.",
        _running(starts, names),
        Answer(folders[chosen], "string"),
        Solution((f"readlink /proc/{_pid(chosen)}/cwd",)),
    )


@template(level=2)
def parent(draw: Draw) -> Made:
    """Who started a program."""
    children = [f"{word}-child" for word in draw.words(4)]
    parents = {child: f"{draw.word()}{draw.number(100, 999)}-master" for child in children}
    chosen = draw.choice(children)
    starts = [
        f"setsid bash -c 'exec -a {name} bash -c \"(exec -a {child} sleep 1000000) & wait\"' {QUIET}"
        for child, name in parents.items()
    ]
    return Made(
        f"The program {chosen} is running. What is the name of the program that started it, its parent? The "
        "name ends in -master and is the first word of the parent's command line.",
        _running(starts, children),
        Answer(parents[chosen], "string"),
        Solution(
            (f"tr '\\0' ' ' < /proc/$(ps -o ppid= -p {_pid(chosen)} | tr -d ' ')/cmdline | cut -d' ' -f1",)
        ),
    )


@template(level=3)
def deleted_file(draw: Draw) -> Made:
    """Save a deleted file that is still open."""
    name, path, target = f"{draw.word()}-server", f"/var/lib/{draw.word()}.txt", f"/root/{draw.word()}.txt"
    lines = [draw.token() for _ in range(12)]
    return Made(
        f"Someone deleted {path}, which the program {name} still keeps open. Write what the file held to "
        f"{target}, and leave the program running.",
        _running(
            [sleeper(name, f"exec 7< {path}; ")],
            [name],
            f"rm {path}",
            (File(path, "\n".join(lines) + "\n"),),
        ),
        State(
            (Fact("lines", {"path": target}, lines), Fact("running", {"text": f"{name} 1000000"}, 1)),
        ),
        Solution((f"cat /proc/{_pid(name)}/fd/7 > {target}",)),
    )


@template(level=3)
def signal_report(draw: Draw) -> Made:
    """Make a program report by a signal."""
    name, target = f"{draw.word()}d", f"/run/{draw.token()}.report"
    code = draw.token()
    program = f"""#!/usr/bin/env python3
import codecs, signal

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
open("/run/{name}.ready", "w").close()
while signal.sigwait([signal.SIGUSR1]):
    with open({target!r}, "w") as file:
        file.write(codecs.decode({_rot13(code)!r}, "rot13") + "\\n")
"""
    path = f"/usr/local/sbin/{name}"
    return Made(
        f"The program {name} writes a report to {target} whenever it gets the signal USR1. What does the "
        "report say?",
        with_programs(
            f"setsid {path} {QUIET}\nuntil [ -e /run/{name}.ready ]; do sleep 0.01; done",
            (File(path, program, 0o755),),
        ),
        Answer(code, "string"),
        Solution((f"pkill -USR1 -f {path}\nuntil [ -s {target} ]; do sleep 0.01; done\ncat {target}",)),
    )


def _rot13(text: str) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return text.translate(str.maketrans(letters, letters[13:] + letters[:13]))


@template(level=1, held_out=True)
def stop_all(draw: Draw) -> Made:
    """End all programs of a name."""
    chosen, other = f"{draw.word()}-task", f"{draw.word()}-task"
    names = [chosen, other, chosen, chosen, other, chosen, chosen]
    return Made(
        f"Several programs named {chosen} are running. End all of them, and no other program.",
        _running([sleeper(name) for name in names], names),
        State(
            (
                Fact("running", {"text": f"{chosen} 1000000"}, 0),
                Fact("running", {"text": f"{other} 1000000"}, 2),
            )
        ),
        Solution((f"pkill -f '^{chosen} 1000000'",)),
    )

"""Tasks about who may do what with files."""

from __future__ import annotations

from envhub_os.own.draw import Draw, folder
from envhub_os.own.template import Family, Made
from envhub_os.own.users import account, accounts
from envhub_os.task import Answer, Fact, File, Script, Setup, Solution, State

FAMILY = Family("permissions")
template = FAMILY.template


@template(level=1)
def executable(draw: Draw) -> Made:
    """Make scripts executable."""
    folders = draw.folders(f"/opt/{draw.word()}", 5)
    scripts = [f"{draw.choice(folders)}/{draw.word()}.sh" for _ in range(10)]
    others = [f"{draw.choice(folders)}/{draw.word()}.txt" for _ in range(6)]
    files = [File(path, "#!/bin/sh\necho ok\n", draw.choice((0o644, 0o600, 0o664))) for path in scripts]
    files += [File(path, draw.sentence()) for path in others]
    return Made(
        f"Give every file below {folders[0]} whose name ends in .sh the permissions rwxr-xr-x. Change no "
        "other file.",
        Setup(tuple(files)),
        State(
            tuple(Fact("mode", {"path": path}, "755") for path in scripts)
            + tuple(Fact("mode", {"path": path}, "644") for path in others)
        ),
        Solution((f"find {folders[0]} -type f -name '*.sh' -exec chmod 755 {{}} +",)),
    )


@template(level=1)
def world_writable(draw: Draw) -> Made:
    """Which file everyone can write."""
    folders = draw.folders(f"/srv/{draw.word()}", 8)
    paths = [f"{draw.choice(folders)}/{draw.word()}.txt" for _ in range(50)]
    chosen = draw.choice(paths)
    modes = (0o644, 0o664, 0o640, 0o755, 0o600)
    files = [
        File(path, "", draw.choice((0o666, 0o646)) if path == chosen else draw.choice(modes))
        for path in paths
    ]
    return Made(
        f"One file below {folders[0]} can be written by everyone. Which? Answer with its full path.",
        Setup(tuple(files)),
        Answer(chosen, "string"),
        Solution((f"find {folders[0]} -type f -perm -o=w",)),
    )


@template(level=1)
def hand_over(draw: Draw) -> Made:
    """Change owner and group of a tree."""
    folders = draw.folders(f"/srv/{draw.word()}", 5)
    root, name, group = folders[0], draw.account(), f"{draw.word()}-crew"
    paths = [f"{draw.choice(folders)}/{draw.word()}" for _ in range(12)]
    return Made(
        f"Make {name} the owner, and {group} the group, of {root} and everything below it.",
        Setup(
            tuple(folder(path) for path in folders) + tuple(File(path, draw.sentence()) for path in paths),
            (accounts([account(name, 3001)]), Script(f"groupadd {group}")),
        ),
        State(tuple(Fact("owner", {"path": path}, f"{name}:{group}") for path in folders + paths)),
        Solution((f"chown -R {name}:{group} {root}",)),
    )


@template(level=2)
def shared_folder(draw: Draw) -> Made:
    """Make a folder that a group shares."""
    path, group, names = f"/srv/{draw.word()}", f"{draw.word()}-crew", [draw.account() for _ in range(2)]
    new = f"{path}/{draw.word()}"
    return Made(
        f"Create the folder {path}, owned by root and the group {group}. Members of {group} may read, write "
        "and enter it, others may do nothing with it, and whatever is created in it must get that group by "
        "itself.",
        Setup(
            (),
            (
                accounts([account(name, 3001 + at) for at, name in enumerate(names)]),
                Script(f"groupadd {group}\ngpasswd -M {names[0]} {group}"),
            ),
        ),
        State(
            (
                Fact("owner", {"path": path}, f"root:{group}"),
                Fact("mode", {"path": path}, "2770"),
                Fact("may", {"path": new, "user": names[0], "do": "create"}, True),
                Fact("owner", {"path": new}, f"{names[0]}:{group}"),
                Fact("may", {"path": path, "user": names[1], "do": "list"}, False),
            )
        ),
        Solution((f"mkdir {path} && chown root:{group} {path} && chmod 2770 {path}",)),
    )


@template(level=2)
def secure_keys(draw: Draw) -> Made:
    """Restrict a folder of keys."""
    name = draw.account()
    home = f"/home/{name}"
    keys = [f"{home}/.ssh/{key}" for key in ("id_ed25519", "authorized_keys", "config")]
    modes = [draw.choice((0o644, 0o666, 0o664)) for _ in keys]
    return Made(
        f"The SSH server refuses the keys of {name}. Make {home}/.ssh accessible to {name} alone (rwx), and "
        f"every file in it readable and writable by {name} alone; all of it must belong to {name} and the "
        f"group {name}.",
        Setup(
            (
                folder(home, owner=(3001, 3001)),
                folder(f"{home}/.ssh", 0o777),
                *(File(key, draw.token(), mode) for key, mode in zip(keys, modes)),
            ),
            (accounts([account(name, 3001)]),),
        ),
        State(
            (
                Fact("mode", {"path": f"{home}/.ssh"}, "700"),
                *(Fact("mode", {"path": key}, "600") for key in keys),
                *(Fact("owner", {"path": path}, f"{name}:{name}") for path in (f"{home}/.ssh", *keys)),
            )
        ),
        Solution(
            (f"chown -R {name}:{name} {home}/.ssh && chmod 700 {home}/.ssh && chmod 600 {home}/.ssh/*",)
        ),
    )


@template(level=3)
def let_one_read(draw: Draw) -> Made:
    """Let one account read, and nobody else."""
    reader, stranger, group = draw.account(), draw.account(), f"{draw.word()}-readers"
    root = f"/srv/{draw.word()}"
    inner = f"{root}/{draw.word()}"
    path, text = f"{inner}/{draw.word()}.txt", draw.token()
    return Made(
        f"{reader} is a member of the group {group} and must be able to read {path}, but can't. Make it "
        f"possible by the group {group}, and keep everybody else, such as {stranger}, from reading it. "
        "Leave the contents as they are.",
        Setup(
            (folder(root, 0o700), folder(inner, 0o700), File(path, f"{text}\n", 0o600)),
            (
                accounts([account(reader, 3001), account(stranger, 3002)]),
                Script(f"groupadd {group}\ngpasswd -M {reader} {group}"),
            ),
        ),
        State(
            (
                Fact("may", {"path": path, "user": reader, "do": "read"}, True),
                Fact("lines", {"path": path}, [text]),
                Fact("may", {"path": path, "user": stranger, "do": "read"}, False),
                Fact("user", {"name": reader}, _member(reader, group)),
                Fact("user", {"name": stranger}, _member(stranger)),
            )
        ),
        Solution((f"chgrp {group} {root} {inner} {path} && chmod g+x {root} {inner} && chmod g+r {path}",)),
    )


def _member(name: str, *groups: str) -> dict[str, object]:
    return {"shell": "/bin/bash", "home": f"/home/{name}", "groups": sorted((name, *groups))}


@template(level=2)
def orphans(draw: Draw) -> Made:
    """Adopt files of an account that is gone."""
    folders = draw.folders(f"/srv/{draw.word()}", 5)
    root, name, gone = folders[0], draw.account(), draw.number(4000, 4999)
    owners = {f"{draw.choice(folders)}/{draw.word()}.txt": draw.choice((gone, 3001, 0)) for _ in range(14)}
    owners[next(iter(owners))] = gone
    names = {gone: f"{name}:{name}", 3001: f"{name}:{name}", 0: "root:root"}
    files = [folder(path) for path in folders]
    files += [File(path, draw.sentence(), owner=(number, number)) for path, number in owners.items()]
    return Made(
        f"Some files below {root} belong to a user ID and a group ID that no account has any more. Give "
        f"those files to the account {name} and the group {name}, and leave all others as they are.",
        Setup(tuple(files), (accounts([account(name, 3001)]),)),
        State(tuple(Fact("owner", {"path": path}, names[number]) for path, number in owners.items())),
        Solution((f"find {root} -nouser -exec chown {name}:{name} {{}} +",)),
    )


@template(level=1, held_out=True)
def no_setuid(draw: Draw) -> Made:
    """Take a permission bit away."""
    folders = draw.folders(f"/opt/{draw.word()}", 5)
    modes = {f"{draw.choice(folders)}/{draw.word()}": draw.choice((0o4755, 0o755, 0o700)) for _ in range(14)}
    modes[next(iter(modes))] = 0o4755
    return Made(
        f"Take the set-user-ID bit from every file below {folders[0]} that has it, and change no other "
        "permission.",
        Setup(tuple(File(path, "#!/bin/sh\n", mode) for path, mode in modes.items())),
        State(tuple(Fact("mode", {"path": path}, f"{mode & 0o777:o}") for path, mode in modes.items())),
        Solution((f"find {folders[0]} -type f -perm -u=s -exec chmod u-s {{}} +",)),
    )

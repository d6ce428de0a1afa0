"""Host mode: the root that is made where there is no root file system, of this machine's own programs.

Only the folders of `TREES` come from the machine; what is not readable for everyone in `/etc` is hidden, and
the password file's shadow is made new.
"""

from __future__ import annotations

import contextlib
import os
import stat

TREES = ("/usr", "/etc", "/var/lib/dpkg")
FOLDERS = {
    **dict.fromkeys(
        ("home", "media", "mnt", "opt", "run", "srv", "var", "var/lib", "var/log", "var/cache"), 0o755
    ),
    **dict.fromkeys(("var/mail", "var/spool", "var/lib/misc", "run/lock"), 0o755),
    "root": 0o700,
    "tmp": 0o1777,
    "var/tmp": 0o1777,
}
LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
OPEN_FOLDERS = {
    "/usr": ("bin", "sbin", "lib", "share", "local", "local/bin", "local/sbin", "local/lib", "local/share")
}
"""Where programs can be added although the folders are nobody's."""


def trees() -> list[str]:
    """The folders of this machine that are seen in host mode."""
    real = [f"/{name}" for name in LINKS if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}")]
    return [tree for tree in (*TREES, *real) if os.path.isdir(tree)]


def secrets() -> list[str]:
    """What lies in `/etc` and is not readable for everyone, as paths below it."""
    hidden = []
    for folder, folders, files in os.walk("/etc"):
        for name in (*folders, *files):
            path = f"{folder}/{name}"
            with contextlib.suppress(FileNotFoundError):
                mode = os.lstat(path).st_mode
                if not stat.S_ISLNK(mode) and _is_secret(mode):
                    hidden.append(path[len("/etc/") :])
                    if name in folders:
                        folders.remove(name)
    return hidden


def _is_secret(mode: int) -> bool:
    needed = 0o005 if stat.S_ISDIR(mode) else 0o004
    return mode & needed != needed


def copy(source: str, target: str) -> None:
    """Copies what everyone may read of a folder."""
    for entry in os.scandir(source):
        place = f"{target}/{entry.name}"
        with contextlib.suppress(OSError):
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), place)
            elif _is_secret(entry.stat().st_mode):
                continue
            elif entry.is_dir():
                os.mkdir(place)
                copy(entry.path, place)
            elif entry.is_file():
                with open(entry.path, "rb") as old, open(place, "xb") as new:
                    new.write(old.read())
                os.chmod(place, stat.S_IMODE(entry.stat().st_mode))


def make_root(root: str, links: str) -> None:
    """Makes the folders that are not the machine's, and its links to others, in a folder `links` too."""
    os.mkdir(links)
    for name in LINKS:
        if os.path.islink(f"/{name}"):
            for folder in (root, links):
                os.symlink(os.readlink(f"/{name}"), f"{folder}/{name}")
    for name, mode in FOLDERS.items():
        os.mkdir(f"{root}/{name}")
        os.chmod(f"{root}/{name}", mode)
    for tree in trees():
        os.makedirs(root + tree, exist_ok=True)
    os.symlink("/run", f"{root}/var/run")
    for name in ("dev", "proc", "sys"):
        os.mkdir(f"{root}/{name}")


def make_shadow(root: str) -> None:
    """Gives every user and group an entry without a password: programs that add users want the files."""
    for source, entry in (("passwd", "{}:*:19000:0:99999:7:::\n"), ("group", "{}:*::\n")):
        with open(f"{root}/etc/{source}") as file:
            names = [line.partition(":")[0] for line in file]
        target = f"{root}/etc/{'shadow' if source == 'passwd' else 'gshadow'}"
        with (
            contextlib.suppress(OSError),
            open(os.open(target, os.O_WRONLY | os.O_CREAT, 0o640), "w") as file,
        ):
            file.write("".join(entry.format(name) for name in names if name))

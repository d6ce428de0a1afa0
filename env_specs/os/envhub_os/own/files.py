"""Tasks about files and folders."""

from __future__ import annotations

import posixpath

from envhub_os.own.draw import Draw, folder
from envhub_os.own.template import Family, Made
from envhub_os.task import Answer, Fact, File, Setup, Solution, State

FAMILY = Family("files")
template = FAMILY.template


def _tree_is(root: str, paths: list[str]) -> Fact:
    """A fact: just these files, and the folders that they are in, lie below the root."""
    names = set()
    for path in paths:
        below = posixpath.relpath(path, root)
        names.add(below)
        while posixpath.dirname(below):
            below = posixpath.dirname(below)
            names.add(f"{below}/")
    return Fact("tree", {"path": root}, sorted(names))


@template(level=1)
def find_text(draw: Draw) -> Made:
    """Which file contains a text."""
    folders = draw.folders(f"/srv/{draw.word()}", 12)
    phrase = draw.token()
    paths = [f"{draw.choice(folders)}/{draw.word()}.txt" for _ in range(40)]
    chosen = draw.choice(paths)
    files = tuple(
        File(path, draw.text(6) + (f"note: {phrase}\n" if path == chosen else "") + draw.text(6))
        for path in paths
    )
    return Made(
        f"Somewhere below {folders[0]} there is a file that contains the text {phrase}. What is its full "
        "path?",
        Setup(files),
        Answer(chosen, "string"),
        Solution((f"grep -rl -- {phrase} {folders[0]}",)),
    )


@template(level=1)
def count_suffix(draw: Draw) -> Made:
    """How many files have a suffix."""
    folders = draw.folders(f"/srv/{draw.word()}", 8)
    suffix, *others = draw.sample(["txt", "log", "csv", "dat", "cfg", "xml"], 4)
    count = draw.number(104, 290)
    files = [File(f"{draw.choice(folders)}/{number}.{suffix}") for number in range(count)]
    files += [
        File(f"{draw.choice(folders)}/{number}.{draw.choice(others)}")
        for number in range(1000, 1000 + count // 3)
    ]
    files += [File(f"{draw.choice(folders)}/{number}.{suffix}.old") for number in range(2000, 2030)]
    return Made(
        f"How many files below {folders[0]}, at any depth, have a name that ends in .{suffix}? Answer with "
        "the number.",
        Setup(tuple(files)),
        Answer(str(count), "integer"),
        Solution((f"find {folders[0]} -type f -name '*.{suffix}' | wc -l",)),
    )


@template(level=1)
def largest(draw: Draw) -> Made:
    """Which file is the largest."""
    folders = draw.folders(f"/var/lib/{draw.word()}", 8)
    sizes = draw.sample(range(200, 6000), 40)
    files = [File(f"{draw.choice(folders)}/{draw.word()}.bin", "x" * size) for size in sizes]
    chosen = max(files, key=lambda file: len(file.content or "")).path
    return Made(
        f"Which file below {folders[0]}, at any depth, is the largest? Answer with its full path.",
        Setup(tuple(files)),
        Answer(chosen, "string"),
        Solution((f"find {folders[0]} -type f -printf '%s %p\\n' | sort -n | tail -1 | cut -d' ' -f2",)),
    )


@template(level=2)
def total_size(draw: Draw) -> Made:
    """How many bytes the files of a suffix hold."""
    folders = draw.folders(f"/var/lib/{draw.word()}", 8)
    suffix, other = draw.sample(["png", "jpg", "wav", "tex", "sql"], 2)
    files = [
        File(
            f"{draw.choice(folders)}/{draw.word()}.{draw.choice((suffix, suffix, other))}",
            "x" * draw.number(50, 3000),
        )
        for _ in range(50)
    ]
    total = sum(len(file.content or "") for file in files if file.path.endswith(f".{suffix}"))
    return Made(
        f"How many bytes do all the .{suffix} files below {folders[0]} hold together? Answer with the "
        "number of bytes.",
        Setup(tuple(files)),
        Answer(str(total), "integer"),
        Solution(
            (
                f"find {folders[0]} -name '*.{suffix}' -type f -printf '%s\\n' | awk '{{s += $1}} END "
                f"{{print s}}'",
            )
        ),
    )


@template(level=1)
def newest(draw: Draw) -> Made:
    """Which file was modified last."""
    folders = draw.folders(f"/home/shared/{draw.word()}", 8)
    ages = draw.sample(range(3, 900), 45)
    files = [File(f"{draw.choice(folders)}/{draw.word()}.odt", draw.sentence(), days_old=age) for age in ages]
    chosen = min(files, key=lambda file: file.days_old).path
    return Made(
        f"Which file below {folders[0]}, at any depth, was modified last? Answer with its full path.",
        Setup(tuple(files)),
        Answer(chosen, "string"),
        Solution((f"find {folders[0]} -type f -printf '%T@ %p\\n' | sort -n | tail -1 | cut -d' ' -f2",)),
    )


@template(level=1)
def rename_suffix(draw: Draw) -> Made:
    """Give files another suffix."""
    folders = draw.folders(f"/srv/{draw.word()}", 5)
    old, new = draw.sample(["txt", "md", "rst", "htm", "text"], 2)
    renamed = [f"{draw.choice(folders)}/{draw.word()}" for _ in range(14)]
    kept = [f"{draw.choice(folders)}/{draw.word()}.{old}x" for _ in range(5)]
    root = folders[0]
    return Made(
        f"Rename every file below {root}, at any depth, whose name ends in .{old}, so that it ends in "
        f".{new} instead. Leave all others alone.",
        Setup(tuple(File(f"{path}.{old}", draw.sentence()) for path in renamed) + tuple(map(File, kept))),
        State((_tree_is(root, [f"{path}.{new}" for path in renamed] + kept),)),
        Solution(
            (
                f"find {root} -type f -name '*.{old}' -exec sh -c 'mv \"$1\" \"${{1%.{old}}}.{new}\"' _ "
                f"{{}} \\;",
            )
        ),
    )


@template(level=2)
def same_content(draw: Draw) -> Made:
    """Which file is a copy of another."""
    folders = draw.folders(f"/srv/{draw.word()}", 8)
    contents = [draw.text(4) for _ in range(40)]
    paths = [f"{draw.choice(folders)}/{draw.word()}.txt" for _ in contents]
    original, copy = draw.sample(range(40), 2)
    contents[copy] = contents[original]
    return Made(
        f"One other file below {folders[0]} holds exactly the same as {paths[original]}. What is its full "
        "path?",
        Setup(tuple(map(File, paths, contents))),
        Answer(paths[copy], "string"),
        Solution(
            (
                f"find {folders[0]} -type f ! -path {paths[original]} -exec cmp -s {{}} {paths[original]} "
                "\\; -print",
            )
        ),
    )


@template(level=2)
def remove_old(draw: Draw) -> Made:
    """Delete files by age."""
    root = f"/var/cache/{draw.word()}"
    folders = draw.folders(root, 4)
    days = draw.sample(range(5, 400), 24)
    limit = sorted(days)[12]
    files = [File(f"{draw.choice(folders)}/{draw.word()}.tmp", draw.sentence(), days_old=age) for age in days]
    files += [File(f"{path}/keep.txt", "stays\n", days_old=0) for path in folders]
    day = f"date -d '2024-03-01 UTC -{limit} days' +%F"
    left = [file.path for file in files if file.days_old < limit]
    return Made(
        f"Disk space is short. Delete every file below {root} that was last modified {limit} days before "
        "2024-03-01 00:00 UTC or earlier; keep all that are younger, and all folders.",
        Setup(tuple(files)),
        State((_tree_is(root, left),)),
        Solution((f'find {root} -type f ! -newermt "$({day}) 00:00:01 UTC" -delete',)),
    )


@template(level=2)
def broken_links(draw: Draw) -> Made:
    """Delete links that lead nowhere."""
    root = f"/opt/{draw.word()}"
    folders = draw.folders(root, 4)
    targets = [f"{draw.choice(folders)}/{draw.word()}.so" for _ in range(8)]
    good = [File(f"{draw.choice(folders)}/{draw.word()}", target=target) for target in targets]
    bad = [File(f"{draw.choice(folders)}/{draw.word()}", target=f"{root}/{draw.word()}.so") for _ in range(8)]
    files = [folder(path) for path in folders] + [File(target, draw.sentence()) for target in targets]
    files += draw.shuffled(good + bad)
    expected = [path for path in folders[1:]] + targets + [file.path for file in good]
    tree = sorted(posixpath.relpath(path, root) + "/" * (path in folders) for path in expected)
    return Made(
        f"Some symbolic links below {root} lead nowhere. Delete just those, and nothing else.",
        Setup(tuple(files)),
        State((Fact("tree", {"path": root}, tree),)),
        Solution((f"find {root} -xtype l -delete",)),
    )


@template(level=2)
def sort_into_folders(draw: Draw) -> Made:
    """Move files into folders by suffix."""
    root = f"/home/{draw.word()}/downloads"
    suffixes = draw.sample(["pdf", "jpg", "mp3", "zip", "csv", "txt"], 4)
    names = [f"{draw.word()}.{draw.choice(suffixes)}" for _ in range(24)]
    return Made(
        f"The folder {root} is full of files. Move each into a subfolder of {root} named by what follows "
        "the dot in its name: a.pdf becomes pdf/a.pdf. Make only those subfolders that get a file.",
        Setup(tuple(File(f"{root}/{name}", draw.sentence()) for name in names)),
        State((_tree_is(root, [f"{root}/{name.partition('.')[2]}/{name}" for name in names]),)),
        Solution((f'cd {root} && for f in *.*; do mkdir -p "${{f##*.}}" && mv "$f" "${{f##*.}}/"; done',)),
    )


@template(level=2, held_out=True)
def join_parts(draw: Draw) -> Made:
    """Join numbered parts in order."""
    root = f"/srv/{draw.word()}"
    count = draw.number(11, 25)
    lines = [f"{draw.sentence()} {draw.number(1000, 9999)}" for _ in range(count)]
    target = f"{root}/whole.txt"
    return Made(
        f"A text was cut into the files part.1 to part.{count} in {root}. Join them in the order of their "
        f"numbers into {target}.",
        Setup(tuple(File(f"{root}/part.{number}", f"{line}\n") for number, line in enumerate(lines, 1))),
        State((Fact("lines", {"path": target}, lines),)),
        Solution((f"cd {root} && for i in $(seq {count}); do cat part.$i; done > whole.txt",)),
    )

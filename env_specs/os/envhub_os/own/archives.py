"""Tasks about archives, compressed files and checksums."""

from __future__ import annotations

import hashlib

from envhub_os.own.draw import Draw
from envhub_os.own.template import Family, Made
from envhub_os.task import Answer, Fact, File, Script, Setup, Solution, State

FAMILY = Family("archives")
template = FAMILY.template


def _packed(archive: str, root: str, options: str = "czf") -> Script:
    """Bash that packs a folder's contents and deletes the folder."""
    return Script(f"mkdir -p $(dirname {archive}) && tar -{options} {archive} -C {root} . && rm -r {root}")


@template(level=1)
def unpack(draw: Draw) -> Made:
    """Unpack an archive."""
    root, target = f"/tmp/{draw.word()}", f"/srv/{draw.word()}"
    archive = f"/root/{draw.word()}.tar.gz"
    names = [f"{draw.word()}/{draw.word()}.txt" for _ in range(6)]
    texts = [draw.text(3) for _ in names]
    return Made(
        f"Unpack the archive {archive} into the folder {target}, which does not exist yet.",
        Setup(tuple(File(f"{root}/{n}", t) for n, t in zip(names, texts)), (_packed(archive, root),)),
        State(tuple(Fact("lines", {"path": f"{target}/{n}"}, t.splitlines()) for n, t in zip(names, texts))),
        Solution((f"mkdir -p {target} && tar -xzf {archive} -C {target}",)),
    )


@template(level=2)
def pack(draw: Draw) -> Made:
    """Pack some files of a folder."""
    root, archive = f"/srv/{draw.word()}", f"/root/{draw.word()}.tar.gz"
    kept = {f"{draw.word()}.txt": draw.text(3) for _ in range(6)}
    left = {f"{draw.word()}.tmp": draw.text(3) for _ in range(4)}
    return Made(
        f"Pack the files in {root} into the gzipped tar archive {archive}, without those whose names end in "
        ".tmp. Inside the archive their names must have no folder before them, but for ./ perhaps.",
        Setup(tuple(File(f"{root}/{name}", text) for name, text in {**kept, **left}.items())),
        State(
            (
                Fact(
                    "archive",
                    {"path": archive, "form": "gz"},
                    {name: text.splitlines() for name, text in kept.items()},
                ),
            )
        ),
        Solution((f"tar -czf {archive} -C {root} --exclude='*.tmp' .",)),
    )


@template(level=2)
def nested(draw: Draw) -> Made:
    """Find something in an archive in an archive."""
    root, code = f"/tmp/{draw.word()}", draw.token()
    outer, middle, inner, name = f"/root/{draw.word()}.tar.gz", *draw.words(2), draw.word()
    script = (
        f"cd {root} && tar -cf {inner}.tar {name}.txt && rm {name}.txt && tar -cJf {middle}.tar.xz * && tar "
        f"-czf {outer} {middle}.tar.xz && cd / && rm -r {root}"
    )
    files = [File(f"{root}/{name}.txt", f"code: {code}\n")]
    files += [File(f"{root}/{word}.txt", draw.text(2)) for word in draw.words(3)]
    return Made(
        f"The archive {outer} holds an archive, which holds another one among other files, which holds a "
        "text with a line that begins with `code: `. What is the code?",
        Setup(tuple(files), (Script(script),)),
        Answer(code, "string"),
        Solution(
            (
                f"cd $(mktemp -d) && tar -xzf {outer} && tar -xJf *.tar.xz && tar -xf *.tar && grep -h "
                "'^code: ' *.txt | cut -d' ' -f2",
            )
        ),
    )


@template(level=3)
def which_archive(draw: Draw) -> Made:
    """Which archive holds a text."""
    root, where, code = f"/tmp/{draw.word()}", f"/var/backups/{draw.word()}", draw.token()
    names = [f"{word}-{draw.number(100, 999)}" for word in draw.words(10)]
    chosen = draw.choice(names)
    files = []
    for name in names:
        notes = [draw.text(3) for _ in range(4)]
        if name == chosen:
            notes[draw.number(0, 3)] += f"{code}\n"
        files += [File(f"{root}/{name}/{draw.word()}.txt", note) for note in notes]
    script = (
        f"mkdir -p {where} && cd {root} && for d in *; do tar -czf {where}/$d.tar.gz $d; done && cd / && rm "
        f"-r {root}"
    )
    return Made(
        f"One of the archives in {where} has a file that contains the text {code}. Which archive? Answer "
        "with its full path.",
        Setup(tuple(files), (Script(script),)),
        Answer(f"{where}/{chosen}.tar.gz", "string"),
        Solution((f"for a in {where}/*.tar.gz; do tar -xzOf $a | grep -q -- {code} && echo $a; done; true",)),
    )


@template(level=2)
def restore_one(draw: Draw) -> Made:
    """Restore one file from the latest backup."""
    root, where = f"/tmp/{draw.word()}", f"/var/backups/{draw.word()}"
    name, path = f"{draw.word()}.conf", f"/etc/{draw.word()}"
    days = sorted(draw.sample(range(1, 28), 4))
    texts = [draw.text(4) for _ in days]
    files = [File(f"{root}/{day:02}/{name}", text) for day, text in zip(days, texts)]
    files += [File(f"{root}/{day:02}/{draw.word()}.conf", draw.text(2)) for day in days[:-1]]
    files.append(File(f"{path}/{name}", "broken\n"))
    script = (
        f"mkdir -p {where} && cd {root} && for d in *; do tar -czf {where}/2024-02-$d.tar.gz -C $d .; done "
        f"&& cd / && rm -r {root}"
    )
    return Made(
        f"The file {path}/{name} is damaged. Put the one from the latest of the backups in {where}, by the "
        "dates in their names, in its place. Bring nothing else back.",
        Setup(tuple(files), (Script(script),)),
        State(
            (
                Fact("lines", {"path": f"{path}/{name}"}, texts[-1].splitlines()),
                Fact("tree", {"path": path}, [name]),
            )
        ),
        Solution((f"tar -xzf $(ls {where}/*.tar.gz | tail -1) -C {path} ./{name}",)),
    )


@template(level=2)
def damaged(draw: Draw) -> Made:
    """Which file does not match its checksum."""
    root = f"/srv/{draw.word()}"
    texts = {f"{draw.word()}.dat": draw.text(5) for _ in range(30)}
    chosen = draw.choice(list(texts))
    sums = [f"{hashlib.sha256(text.encode()).hexdigest()}  {name}" for name, text in texts.items()]
    texts[chosen] = texts[chosen][:-2] + "#\n"
    files = [File(f"{root}/{name}", text) for name, text in texts.items()]
    return Made(
        f"{root}/SHA256SUMS lists the checksums of the files in {root}. One file is damaged: it does not "
        "match its checksum. Which? Answer with its full path.",
        Setup((File(f"{root}/SHA256SUMS", "\n".join(sums) + "\n"), *files)),
        Answer(f"{root}/{chosen}", "string"),
        Solution(
            (
                f"cd {root} && sha256sum -c SHA256SUMS 2>/dev/null | grep -v ': OK$' | sed 's|^|{root}/|; "
                "s|:.*||'",
            )
        ),
    )


@template(level=1)
def compress_logs(draw: Draw) -> Made:
    """Compress files, each by itself."""
    root = f"/var/log/{draw.word()}"
    logs, others = [f"{word}.log" for word in draw.words(6)], [f"{word}.txt" for word in draw.words(3)]
    texts = {name: draw.text(3) for name in logs + others}
    facts = [Fact("tree", {"path": root}, sorted([f"{name}.gz" for name in logs] + others))]
    facts += [Fact("unzipped", {"path": f"{root}/{n}.gz"}, texts[n].splitlines()) for n in logs]
    return Made(
        f"Compress each .log file in {root} with gzip, so that a.log is replaced by a.log.gz. Leave other "
        "files alone.",
        Setup(tuple(File(f"{root}/{name}", text) for name, text in texts.items())),
        State(tuple(facts)),
        Solution((f"gzip {root}/*.log",)),
    )


@template(level=2, held_out=True)
def split_archive(draw: Draw) -> Made:
    """Read an archive that is in pieces."""
    root, where, code = f"/tmp/{draw.word()}", f"/root/{draw.word()}", draw.token()
    name = draw.word()
    files = [File(f"{root}/{name}.txt", f"{draw.text(400)}code: {code}\n{draw.text(200)}")]
    script = (
        f"mkdir -p {where} && tar -czf - -C {root} . | split -b 2000 -d - {where}/{name}.tar.gz. && rm -r "
        f"{root}"
    )
    return Made(
        f"The files {where}/{name}.tar.gz.00 and so on are the pieces of one archive. In it is a text with "
        "a line that begins with `code: `. What is the code?",
        Setup(tuple(files), (Script(script),)),
        Answer(code, "string"),
        Solution((f"cat {where}/{name}.tar.gz.* | tar -xzO | grep '^code: ' | cut -d' ' -f2",)),
    )

"""Tasks about accounts and groups."""

from __future__ import annotations

from envhub_os.own.draw import Draw, folder
from envhub_os.own.template import Family, Made
from envhub_os.task import Answer, Fact, File, Script, Setup, Solution, State

FAMILY = Family("users")
template = FAMILY.template

NOLOGIN = "/usr/sbin/nologin"


def accounts(lines: list[str]) -> Script:
    """Bash that adds lines to /etc/passwd, and a group of its own for each account."""
    groups = [":".join((line.split(":")[0], "x", line.split(":")[3], "")) for line in lines]
    return Script(
        "cat >> /etc/passwd <<'END'\n" + "\n".join(lines) + "\nEND\n"
        "cat >> /etc/group <<'END'\n" + "\n".join(groups) + "\nEND\n"
    )


def account(name: str, number: int, home: str = "", shell: str = "/bin/bash") -> str:
    """Return a line of /etc/passwd; the group has the account's number."""
    return f"{name}:x:{number}:{number}::{home or f'/home/{name}'}:{shell}"


@template(level=1)
def create(draw: Draw) -> Made:
    """Create an account."""
    name, home = draw.account(), f"/srv/{draw.word()}"
    groups = sorted(f"{word}-team" for word in draw.words(2))
    shell = draw.choice(("/bin/bash", "/bin/sh", NOLOGIN))
    return Made(
        f"Create an account {name} with the home directory {home}, which must exist, and the shell {shell}. "
        f"Make it a member of the groups {' and '.join(groups)}, which exist, besides a group of its own "
        "name.",
        Setup((), (Script("\n".join(f"groupadd {group}" for group in groups)),)),
        State(
            (
                Fact(
                    "user", {"name": name}, {"shell": shell, "home": home, "groups": sorted([name, *groups])}
                ),
                Fact("type", {"path": home}, "dir"),
            )
        ),
        Solution((f"useradd -m -U -d {home} -s {shell} -G {','.join(groups)} {name}",)),
    )


@template(level=1)
def join_group(draw: Draw) -> Made:
    """Add accounts to a group."""
    group, names = f"{draw.word()}-staff", sorted(draw.account() for _ in range(5))
    old, new = names[:2], names[2:4]
    lines = [account(name, 3000 + number) for number, name in enumerate(names)]
    return Made(
        f"Add the accounts {' and '.join(new)} to the group {group}; whoever is in it stays in it.",
        Setup((), (accounts(lines), Script(f"groupadd {group}\ngpasswd -M {','.join(old)} {group}"))),
        State((Fact("group", {"name": group}, sorted(old + new)),)),
        Solution(("; ".join(f"usermod -aG {group} {name}" for name in new),)),
    )


@template(level=1)
def who_has_number(draw: Draw) -> Made:
    """Whose user ID it is."""
    names = [draw.account() for _ in range(40)]
    numbers = draw.sample(range(2000, 9000), 40)
    chosen = draw.number(0, 39)
    return Made(
        f"Which account has the user ID {numbers[chosen]}? Answer with its name.",
        Setup((), (accounts([account(name, number) for name, number in zip(names, numbers)]),)),
        Answer(names[chosen], "string"),
        Solution((f"getent passwd {numbers[chosen]} | cut -d: -f1",)),
    )


@template(level=2)
def close_shells(draw: Draw) -> Made:
    """Change the shell of some accounts."""
    names = [draw.account() for _ in range(10)]
    shells = [draw.choice(("/bin/bash", "/bin/sh", "/bin/dash")) for _ in names]
    shells[:3] = ["/bin/sh", "/bin/bash", "/bin/sh"]
    lines = [account(name, 3000 + at, shell=shell) for at, (name, shell) in enumerate(zip(names, shells))]
    facts = tuple(
        Fact(
            "user",
            {"name": name},
            {"shell": NOLOGIN if shell == "/bin/sh" else shell, "home": f"/home/{name}", "groups": [name]},
        )
        for name, shell in zip(names, shells)
    )
    return Made(
        f"Give every account with a user ID from 3000 to 3999 whose shell is /bin/sh the shell {NOLOGIN} "
        "instead. Change no other account.",
        Setup((), (accounts(lines),)),
        State(facts),
        Solution(
            (
                "awk -F: '$3 >= 3000 && $3 < 4000 && $7 == \"/bin/sh\" {print $1}' /etc/passwd | "
                f"while read -r n; do usermod -s {NOLOGIN} $n; done",
            )
        ),
    )


@template(level=2)
def homeless(draw: Draw) -> Made:
    """Which account has no home."""
    names = [draw.account() for _ in range(14)]
    chosen = draw.choice(names)
    lines = [account(name, 3000 + at) for at, name in enumerate(names)]
    homes = tuple(
        folder(f"/home/{name}", owner=(3000 + at, 3000 + at))
        for at, name in enumerate(names)
        if name != chosen
    )
    return Made(
        "Of the accounts with a user ID from 3000 to 3999, one has a home directory that does not exist. "
        "Which? Answer with its name.",
        Setup(homes, (accounts(lines),)),
        Answer(chosen, "string"),
        Solution(
            (
                "getent passwd | awk -F: '$3 >= 3000 && $3 < 4000 {print $1, $6}' | "
                'while read -r n h; do [ -d "$h" ] || echo $n; done',
            )
        ),
    )


@template(level=2)
def biggest_group(draw: Draw) -> Made:
    """Which group has the most members."""
    names = sorted(draw.account() for _ in range(20))
    groups = {f"{word}{draw.number(100, 999)}": draw.number(2, 9) for word in draw.words(8)}
    chosen = draw.choice(list(groups))
    groups[chosen] = 12
    script = "cat >> /etc/group <<'END'\n" + "\n".join(
        f"{group}:x:{5000 + at}:{','.join(draw.sample(names, size))}"
        for at, (group, size) in enumerate(groups.items())
    )
    return Made(
        "Which group has the most members listed in /etc/group? Answer with its name.",
        Setup(
            (), (accounts([account(n, 3000 + at) for at, n in enumerate(names)]), Script(script + "\nEND\n"))
        ),
        Answer(chosen, "string"),
        Solution(
            ("awk -F: '{print split($4, m, \",\"), $1}' /etc/group | sort -n | tail -1 | cut -d' ' -f2",)
        ),
    )


@template(level=3)
def leave_to_successor(draw: Draw) -> Made:
    """Hand over files and delete an account."""
    leaver, heir, other = (draw.account() for _ in range(3))
    root = f"/srv/{draw.word()}"
    folders = draw.folders(root, 4)
    owners = {f"{draw.choice(folders)}/{draw.word()}.txt": draw.choice((3001, 3001, 3003)) for _ in range(12)}
    first = next(iter(owners))
    owners[first] = 3001
    lines = [account(name, 3001 + at) for at, name in enumerate((leaver, heir, other))]
    facts = [
        Fact("owner", {"path": path}, f"{heir}:{heir}" if number == 3001 else f"{other}:{other}")
        for path, number in owners.items()
    ]
    files = [folder(path) for path in folders]
    files += [File(path, draw.sentence(), owner=(number, number)) for path, number in owners.items()]
    return Made(
        f"{leaver} has left. Give every file below {root} that belongs to the account {leaver} to the "
        f"account {heir} and its group {heir}, then delete the account {leaver}. Leave all else as it is.",
        Setup(tuple(files), (accounts(lines),)),
        State((*facts, Fact("user", {"name": leaver}, None))),
        Solution((f"find {root} -user {leaver} -exec chown {heir}:{heir} {{}} + && userdel {leaver}",)),
    )


@template(level=2, held_out=True)
def common_members(draw: Draw) -> Made:
    """Who is in two groups."""
    names = sorted(draw.account() for _ in range(14))
    one, two = draw.words(2)
    chosen = names[draw.number(0, 13)]
    rest = draw.shuffled([name for name in names if name != chosen])
    script = (
        f"cat >> /etc/group <<'END'\n{one}:x:5001:{','.join(sorted([chosen, *rest[:6]]))}\n"
        f"{two}:x:5002:{','.join(sorted([chosen, *rest[6:]]))}\nEND\n"
    )
    return Made(
        f"Exactly one account is a member of both groups {one} and {two}. Which? Answer with its name.",
        Setup((), (accounts([account(n, 3000 + at) for at, n in enumerate(names)]), Script(script))),
        Answer(chosen, "string"),
        Solution(
            (f"for g in {one} {two}; do getent group $g | cut -d: -f4 | tr , '\\n'; done | sort | uniq -d",)
        ),
    )

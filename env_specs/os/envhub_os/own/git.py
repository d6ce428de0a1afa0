"""Tasks about a git repository."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from envhub_os.machine import EPOCH
from envhub_os.own.draw import Draw
from envhub_os.own.template import Family, Made
from envhub_os.task import Answer, Fact, File, Script, Setup, Solution, State

FAMILY = Family("git")
template = FAMILY.template

_AS = "git -c user.name=me -c user.email=me@host.example"


@dataclass
class _History:
    """A history for `git fast-import`: made on the host, the same in each run, at the cost of one process.

    Args:
        repo: Where the repository is made.
    """

    repo: str
    stream: list[str] = field(default_factory=list)
    commits: int = 0

    def commit(
        self,
        author: str,
        subject: str,
        files: dict[str, str | None],
        branch: str = "main",
        parent: int | None = None,
    ) -> int:
        """Add a commit and return its number. A file that is None is deleted.

        Args:
            author: Name of its author.
            subject: Its message.
            files: What it changes.
            branch: Where it goes.
            parent: The commit that a new branch begins with.
        """
        self.commits += 1
        who = f"{author} <{author}@host.example> {EPOCH + 3600 * self.commits} +0000"
        self.stream += [
            f"commit refs/heads/{branch}",
            f"mark :{self.commits}",
            f"author {who}",
            f"committer {who}",
        ]
        self.stream += [f"data {len(subject.encode())}", subject]
        if parent is not None:
            self.stream.append(f"from :{parent}")
        for path, text in files.items():
            if text is None:
                self.stream.append(f"D {path}")
            else:
                self.stream += [f"M 100644 inline {path}", f"data {len(text.encode())}", text]
        return self.commits

    def setup(self) -> Setup:
        """Return what makes the repository, with main checked out."""
        script = (
            f"git init -q -b main {self.repo} && cd {self.repo} && git fast-import --quiet < /tmp/history "
            "&& git reset -q --hard main && rm /tmp/history"
        )
        return Setup((File("/tmp/history", "\n".join(self.stream) + "\n"),), (Script(script),))

    def git(self, *arguments: str) -> dict[str, Any]:
        """Return the arguments of a fact that runs git in the repository."""
        return {"repo": self.repo, "arguments": list(arguments)}


def _history(draw: Draw, commits: int = 12) -> tuple[_History, dict[str, str], list[str]]:
    """Make a history of changes to some files by some people."""
    history = _History(f"/srv/{draw.word()}")
    files = {f"{word}.txt": draw.text(5) for word in draw.words(5)}
    authors = [draw.account() for _ in range(5)]
    history.commit(authors[0], "Begin", dict(files))
    for _ in range(commits):
        name = draw.choice(list(files))
        files[name] += draw.text(1)
        history.commit(draw.choice(authors), f"Add to {name}", {name: files[name]})
    return history, files, authors


@template(level=2)
def who_wrote(draw: Draw) -> Made:
    """Who wrote a line."""
    history, files, authors = _history(draw)
    name, phrase, author = draw.choice(list(files)), draw.token(), draw.choice(authors)
    files[name] += f"{phrase}\n"
    history.commit(author, f"Say more in {name}", {name: files[name]})
    for _ in range(6):
        files[name] += draw.text(1)
        history.commit(draw.choice(authors), f"Add to {name}", {name: files[name]})
    return Made(
        f"In the git repository {history.repo}, who wrote the line of {name} that says {phrase}? Answer "
        "with the author's name.",
        history.setup(),
        Answer(author, "string"),
        Solution((f"cd {history.repo} && git log -S{phrase} --format=%an | cat",)),
    )


@template(level=2)
def restore_deleted(draw: Draw) -> Made:
    """Bring a deleted file back."""
    history, files, authors = _history(draw)
    name = draw.choice(list(files))
    text = files.pop(name)
    history.commit(draw.choice(authors), "Tidy up", {name: None})
    for _ in range(4):
        other = draw.choice(list(files))
        files[other] += draw.text(1)
        history.commit(draw.choice(authors), f"Add to {other}", {other: files[other]})
    path = f"{history.repo}/{name}"
    return Made(
        f"The file {name} was deleted from the git repository {history.repo} some commits ago. Bring it "
        "back into the working tree, as it was just before it was deleted, and leave all other files as "
        "they are.",
        history.setup(),
        State(
            (
                Fact("lines", {"path": path}, text.splitlines()),
                *(Fact("lines", {"path": f"{history.repo}/{n}"}, t.splitlines()) for n, t in files.items()),
            )
        ),
        Solution((f"cd {history.repo} && git checkout $(git rev-list -1 HEAD -- {name})^ -- {name}",)),
    )


@template(level=1)
def commit_on_branch(draw: Draw) -> Made:
    """Commit changes on a new branch."""
    history, files, _ = _history(draw, 4)
    branch, message = draw.word(), f"{draw.word().capitalize()} the {draw.word()}"
    name, new = next(iter(files)), f"{draw.word()}.txt"
    setup = history.setup()
    script = Script(f"cd {history.repo} && echo {draw.word()} >> {name} && echo {draw.word()} > {new}")
    return Made(
        f"The git repository {history.repo} has changes that are not committed, and a new file. Create the "
        f'branch {branch} and commit all of that on it, in one commit with the message "{message}". Leave '
        "the branch main where it is.",
        Setup(setup.files, (*setup.scripts, script)),
        State(
            (
                Fact("git", history.git("log", "--format=%s", f"main..{branch}"), [0, [message]]),
                Fact("git", history.git("status", "--porcelain"), [0, []]),
                Fact("git", history.git("diff", "--name-only", "main", branch), [0, sorted((name, new))]),
                Fact("git", history.git("rev-list", "--count", "main"), [0, ["5"]]),
            )
        ),
        Solution(
            (
                f"cd {history.repo} && git checkout -q -b {branch} && git add -A",
                f"{_AS} commit -q -m '{message}'",
            )
        ),
    )


@template(level=2)
def count_commits(draw: Draw) -> Made:
    """How many commits an author made."""
    history = _History(f"/srv/{draw.word()}")
    authors, name = [draw.account() for _ in range(3)], f"{draw.word()}.txt"
    by = [authors[0]] * draw.number(101, 140) + [draw.choice(authors[1:]) for _ in range(80)]
    for number, author in enumerate(draw.shuffled(by)):
        history.commit(author, f"Change {number}", {name: f"{number}\n"})
    return Made(
        f"How many commits on the branch main of the git repository {history.repo} are by the author "
        f"{authors[0]}? Answer with the number.",
        history.setup(),
        Answer(str(by.count(authors[0])), "integer"),
        Solution((f"git -C {history.repo} log --author={authors[0]} --oneline main | wc -l",)),
    )


@template(level=3)
def merge(draw: Draw) -> Made:
    """Merge a branch that is in conflict."""
    history, files, authors = _history(draw, 4)
    base, branch = history.commits, draw.word()
    name, other = draw.sample(list(files), 2)
    theirs = {name: files[name] + f"{draw.token()}\n", other: draw.token() + "\n" + files[other]}
    history.commit(authors[1], "Work on the branch", dict(theirs), branch, base)
    history.commit(authors[2], "Work on main", {name: files[name] + f"{draw.token()}\n"})
    wanted = {**files, **theirs}
    return Made(
        f"Merge the branch {branch} of the git repository {history.repo} into main, with a merge commit. "
        f"The two are in conflict; wherever they are, take what {branch} has.",
        history.setup(),
        State(
            (
                *(Fact("lines", {"path": f"{history.repo}/{n}"}, t.splitlines()) for n, t in wanted.items()),
                Fact("git", history.git("rev-list", "--count", "--merges", "main"), [0, ["1"]]),
                Fact("git", history.git("log", "--oneline", f"main..{branch}"), [0, []]),
                Fact("git", history.git("status", "--porcelain"), [0, []]),
                Fact("git", history.git("rev-parse", "--abbrev-ref", "HEAD"), [0, ["main"]]),
            )
        ),
        Solution((f"cd {history.repo} && {_AS} merge -q -X theirs -m 'Merge {branch}' {branch}",)),
    )


@template(level=1)
def tag(draw: Draw) -> Made:
    """Tag a commit."""
    history, files, authors = _history(draw, 6)
    name, subject = draw.choice(list(files)), f"Finish the {draw.word()} {draw.word()}"
    history.commit(draw.choice(authors), subject, {name: draw.text(3)})
    for _ in range(5):
        history.commit(draw.choice(authors), f"Add to {name}", {name: draw.text(3)})
    label = f"v{draw.number(1, 9)}.{draw.number(0, 9)}.{draw.number(0, 9)}"
    return Made(
        f'In the git repository {history.repo}, tag the commit with the message "{subject}" as {label}.',
        history.setup(),
        State((Fact("git", history.git("log", "-1", "--format=%s", label), [0, [subject]]),)),
        Solution((f"cd {history.repo} && git tag {label} $(git log --format=%H --grep '{subject}')",)),
    )


@template(level=2)
def revert(draw: Draw) -> Made:
    """Undo a commit by another one."""
    history, files, authors = _history(draw, 5)
    name, other = draw.sample(list(files), 2)
    subject, before = f"Improve the {draw.word()} {draw.word()}", files[name]
    history.commit(draw.choice(authors), subject, {name: before.replace("a", "4")})
    for _ in range(4):
        files[other] += draw.text(1)
        history.commit(draw.choice(authors), f"Add to {other}", {other: files[other]})
    count = str(history.commits + 1)
    return Made(
        f'In the git repository {history.repo}, the commit with the message "{subject}" did harm. Undo what '
        "it changed with a new commit on main, and keep all other commits.",
        history.setup(),
        State(
            (
                *(Fact("lines", {"path": f"{history.repo}/{n}"}, t.splitlines()) for n, t in files.items()),
                Fact("git", history.git("rev-list", "--count", "main"), [0, [count]]),
                Fact("git", history.git("status", "--porcelain"), [0, []]),
            )
        ),
        Solution((f"cd {history.repo} && {_AS} revert --no-edit $(git log --format=%H --grep '{subject}')",)),
    )


@template(level=2, held_out=True)
def secret_in_history(draw: Draw) -> Made:
    """What a file once said."""
    history, _, authors = _history(draw, 5)
    secret, name = draw.token(), f"{draw.word()}.env"
    history.commit(draw.choice(authors), "Configure", {name: f"mode = test\npassword = {secret}\n"})
    history.commit(draw.choice(authors), "Clean up the configuration", {name: "mode = test\n"})
    for _ in range(6):
        history.commit(draw.choice(authors), f"Add to {name}", {name: f"mode = test\n{draw.text(1)}"})
    return Made(
        f"A password once stood in {name} in the git repository {history.repo}, as `password = ...`. It was "
        "taken out, but the history has it still. What was the password?",
        history.setup(),
        Answer(secret, "string"),
        Solution((f"git -C {history.repo} log -p -- {name} | grep '^+password = ' | cut -d' ' -f3",)),
    )

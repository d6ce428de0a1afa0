"""A sandbox that was saved can be made again: the same files, the same shell."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable

import pytest
from envhub_os.sandbox import Sandbox, SandboxError, Saved, report
from envhub_os.sandbox.settings import AUTO

from .conftest import say

Make = Callable[..., Sandbox]
LISTING = r"""
import os, hashlib
def tell(path):
    s = os.lstat(path)
    attributes = [(n, os.getxattr(path, n)) for n in sorted(os.listxattr(path, follow_symlinks=False))]
    what = os.readlink(path) if os.path.islink(path) else ""
    if os.path.isfile(path) and not what:
        what = hashlib.sha256(open(path, "rb").read()).hexdigest()
    size = None if os.path.isdir(path) else (s.st_size, s.st_blocks)
    print(ascii(path), oct(s.st_mode), s.st_uid, s.st_gid, s.st_mtime_ns, s.st_nlink, size, what, attributes)
def walk(path):
    tell(path)
    if os.path.isdir(path) and not os.path.islink(path):
        for name in os.listdir(path):
            walk(f"{path}/{name}")
for top in "/etc /home /opt /root /run /srv /tmp /usr/share/doc/bash /var/log /var/tmp".split():
    if os.path.isdir(top):
        walk(top)
for path in ("/", "/usr", "/usr/bin", "/usr/share", "/usr/share/doc", "/usr/local"):
    tell(path)
    print(os.listdir(path))
links = {}
for folder, _, names in os.walk("/srv"):
    for name in names:
        links.setdefault(os.lstat(f"{folder}/{name}").st_ino, []).append(f"{folder}/{name}")
print(sorted(sorted(paths) for paths in links.values()))
"""
FILES = r"""
mkdir -p /srv/a/b '/srv/a/with  space' $'/srv/a/\xff\n'
echo one > /srv/a/one; ln /srv/a/one /srv/a/b/two; ln -s one /srv/a/three; ln -s /no/such /srv/dangling
ln /srv/dangling /srv/dangling-too
printf 'x%.0s' {1..100000} > /srv/a/b/long; truncate -s 3000000 /srv/hole; printf end >> /srv/hole
touch /srv/empty; mkfifo /srv/pipe; chmod 4755 /srv/a/one; chmod 1777 /srv/a; chmod 0 /srv/empty
touch -d '2001-02-03 04:05:06.789' /srv/a/b/long; touch -h -d '2002-02-02' /srv/a/three
touch -d 1999-09-09 /srv/a
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("/srv/socket")'
python3 -c 'import os; os.setxattr("/srv/a", "user.note", b"\0\xff")' 2> /dev/null
rm /usr/bin/xargs /etc/hostname; rm -r /usr/share/doc/bash; mkdir /usr/share/doc/bash
echo new > /usr/share/doc/bash/note
echo 127.0.0.9 nine >> /etc/hosts; chmod 600 /etc/hosts; mv /etc/issue /etc/issue.old 2> /dev/null
for n in z y x 1 2 3; do echo $n > /tmp/$n; done; rm /tmp/y; echo again > /tmp/y
"""
SHELL = r"""
plain='two words'; export SENT=$'a\tb\nc "quoted" $HOME \\ \xc3\xa9 \xff'; declare -i number=7
readonly FIXED='f'; list=(1 'b c' [5]=six); declare -A map=([k]='v w' ['x y']=$'\n'); declare -n ref=plain
unset HISTFILE; : "${list[@]}"
declare -x UNSET; declare -l low=ABC; IFS=,; CDPATH=/srv; [[ abc =~ b(.) ]]
f() { local x=$1; case $x in (a) echo is-a;; *) echo "not $x";; esac; }; export -f f
g() { cat <<END
here $1
END
}; readonly -f g
alias ll='ls -l' quoted="echo 'it'"; shopt -s extglob nullglob; shopt -u checkwinsize
set -o pipefail -u; set +o histexpand
h() { case $1 in @(p|q)) echo pq;; esac; }
trap 'echo leaving' EXIT; trap '' USR1; umask 027; ls / > /dev/null; hash -p /bin/true fake
complete -W 'a b' thing
cd -- '/srv/a/with  space'; cd ..; pushd /tmp > /dev/null; stty rows 50
"""
QUESTIONS = (
    "declare -p plain SENT number FIXED list map low IFS CDPATH BASH_REMATCH OLDPWD PWD",
    "declare -p UNSET HISTFILE; echo $ref; f a; f b; g 3; h q; alias; shopt; set -o; trap -p; umask",
    "hash -l; complete -p; dirs -v; declare -F",
    "declare -f; history; echo $LINENO $- $$ $BASHPID $SHLVL; compgen -v | sort",
    "bash -c 'f a; echo $SENT $number; env | sort'; stty -a; false | true; echo $?",
    "ll /tmp; number=2+3; echo $number; (sleep 0.01 & echo $!; wait); echo $BASHPID",
    "su nobody -s /bin/bash -c id; cat /proc/sys/kernel/ns_last_pid",
    "FIXED=2; f() { :; }; g() { :; }; echo $nothing; echo still here",
)


def again(saved: Saved) -> Saved:
    """The same after a journey as JSON."""
    return Saved.from_json(json.loads(json.dumps(saved.to_json())))


def listed(sandbox: Sandbox) -> list[str]:
    done = sandbox.exec(["python3", "-c", LISTING], limit_bytes=1 << 26)
    assert done.exit_code == 0, done.stderr
    return done.stdout.decode().splitlines()


def test_the_files_are_the_same(make: Make, root: Sandbox) -> None:
    say(root, FILES)
    if "user:" not in say(root, "head -1 /proc/self/uid_map | grep -q 65536 && echo user:").output:
        pytest.skip("no other user ids in sandboxes here")
    say(root, "chown -R 1000:1001 /srv/a/b; chown -h 7:8 /srv/a/three; chmod 2750 /srv/a/b")
    other = make(root.settings, again(root.save()))
    assert listed(other) == listed(root)
    assert (
        say(other, "cat /proc/sys/kernel/ns_last_pid").output
        == say(root, "cat /proc/sys/kernel/ns_last_pid").output
    )
    third = make(root.settings, again(other.save()))
    assert listed(third) == listed(other)


def test_the_shell_is_the_same(make: Make, root: Sandbox) -> None:
    say(root, FILES)
    assert say(root, SHELL).output == ""
    saved = again(root.save())
    other = make(root.settings, saved)
    third = make(root.settings, again(other.save()))
    root.save()  # which counts as a line
    for question in QUESTIONS:
        told = say(root, question).output
        assert told and say(other, question).output == told
        assert say(third, question).output == told


@pytest.mark.parametrize("seed", range(3))
def test_any_steps_before_and_after_show_the_same(make: Make, root: Sandbox, seed: int) -> None:
    draw = random.Random(seed)
    names = [f"/srv/{name}" for name in "abcd"] + ["/etc/hosts", "/etc/passwd", "/tmp/a", "/root/.bashrc"]
    variables = ["a", "b", "PATH", "HOME", "IFS", "LANG", "OLDPWD", "PS4"]

    def change() -> str:
        one, other = draw.sample(names, 2)
        variable = draw.choice(variables)
        return draw.choice(
            [
                f"echo {draw.random()} >> {one}",
                f"rm -rf {one}",
                f"mkdir -p {one}/x",
                f"cp -a {one} {other}",
                f"mv {one} {other}",
                f"ln {one} {other}",
                f"ln -s {one} {other}",
                f"chmod {draw.choice(['700', '4755', 'u-w', 'a+rx'])} {one}",
                f"touch -d @{draw.randrange(10**9)} {one}",
                f"cd {draw.choice(['/srv', '/tmp', '-', '..', '~'])} > /dev/null",
                f"{variable}='{draw.choice(['/usr/bin:/bin', 'x y', 'C.UTF-8', ','])}'",
                f"export {variable}",
                f"unset {draw.choice(variables[:2])}",
                f'{draw.choice("fgh")}() {{ echo {draw.random()} "$@"; }}',
                f"alias {draw.choice('kl')}='echo {draw.random()}'",
                f"shopt -{draw.choice('su')} {draw.choice(['dotglob', 'nullglob', 'extglob', 'nocaseglob'])}",
                f"umask {draw.choice(['022', '077'])}",
                f"trap 'echo {draw.random()}' {draw.choice(['INT', 'EXIT', 'USR1'])}",
                f"[[ {draw.random()} =~ (.)$ ]]",
                "false",
            ]
        )

    look = "pwd; declare -p a b PATH HOME IFS LANG OLDPWD; declare -f; alias; shopt; umask; trap; echo $?"
    sandbox = root
    for _ in range(3):
        say(sandbox, "\n".join(change() for _ in range(8)))
        copy = make(sandbox.settings, again(sandbox.save()))
        assert listed(copy) == listed(sandbox)
        for command in (look, f"{change()}; {look}"):
            assert say(copy, command).output == say(sandbox, command).output
        sandbox = copy


def test_what_is_done_in_one_is_seen_in_no_other(make: Make, root: Sandbox) -> None:
    say(root, "echo base > /srv/file; X=base")
    saved = root.save()
    one, other = (make(root.settings, saved) for _ in range(2))
    say(one, "echo one > /srv/file; rm /usr/bin/xargs; X=one; kill -9 $$")
    say(root, "rm /srv/file; X=root")
    assert say(other, "cat /srv/file; echo $X; ls /usr/bin/xargs").output == "base\nbase\n/usr/bin/xargs\n"
    assert say(make(root.settings, saved), "cat /srv/file; echo $X").output == "base\nbase\n"
    assert say(root, "ls /srv; echo $X").output == "root\n"


def test_saving_leaves_no_trace(make: Make, root: Sandbox) -> None:
    other = make(root.settings)
    for sandbox in (root, other):
        say(sandbox, "echo text > /srv/file; touch -a -d 2001-01-01 /srv/file; cd /srv; X=1")
    for _ in range(3):
        root.save()
    look = (
        "stat -c %x file; declare -p X; echo $? $_ $!; set; history | wc -l; echo $BASHPID; bash -c 'echo $$'"
    )

    def shown(sandbox: Sandbox) -> list[str]:
        lines = say(sandbox, look).output.splitlines()
        return [
            line
            for line in lines
            if not line.startswith(("PROMPT_COMMAND", "PS1", "_=", "SECONDS", "LINENO"))
        ]

    first, second = shown(root), shown(other)
    assert [line for line in first if "e]9;" not in line] == [line for line in second if "e]9;" not in line]


@pytest.mark.usefixtures("users")
def test_what_the_files_start_at_login_is_not_started_again(make: Make, root: Sandbox) -> None:
    say(
        root,
        "for f in /etc/profile ~/.bash_profile ~/.bashrc; do echo 'echo x >> /srv/logins' > $f; done",
    )
    other = make(root.settings, root.save())
    assert say(other, "ls /srv; cat /etc/profile").output == "echo x >> /srv/logins\n"
    say(other, "su - -c true < /dev/null")
    assert say(other, "cat /srv/logins").output.startswith("x\n")


def test_a_shell_that_does_not_become_the_same_is_found_out(make: Make, root: Sandbox) -> None:
    saved = root.save().to_json()
    saved["shell"]["variables"]["X"] = "declare -- X=$$"
    with pytest.raises(SandboxError, match="variable X is"):
        make(root.settings, Saved.from_json(saved))


def test_a_bash_of_the_agents_makes_no_sandbox(make: Make, root: Sandbox) -> None:
    say(root, "printf '#!/bin/sh\\nexit 3\\n' > /usr/local/bin/bash; chmod +x /usr/local/bin/bash")
    saved = root.save()
    with pytest.raises(SandboxError, match="no prompt"):
        make(root.settings, saved)


def test_what_was_saved_is_made_again_by_the_other_backend(make: Make, root: Sandbox) -> None:
    (backend,) = set(AUTO) - {root.settings.backend}
    other = dataclasses.replace(root.settings, backend=backend)
    if problem := report(other).problem:
        pytest.skip(problem)
    say(root, FILES + "cd /srv; X=kept")
    copy = make(other, again(root.save()))
    assert listed(copy) == listed(root)
    assert say(copy, "echo $X $PWD").output == "kept /srv\n"

"""Tasks about services."""

from __future__ import annotations

from envhub_os.own.draw import Draw
from envhub_os.own.programs import running, sleeper
from envhub_os.own.service import Service
from envhub_os.own.template import Family, Made
from envhub_os.task import Answer, Fact, Setup, Solution, State

FAMILY = Family("services")
template = FAMILY.template


def _service(draw: Draw) -> Service:
    return Service(f"{draw.word()}{draw.number(10, 99)}", draw.token())


def _about(service: Service) -> str:
    return (
        f"The service {service.name} is controlled with `{service.name}ctl start|stop|restart|status`, "
        f"configured in {service.conf} and writes to /var/log/{service.name}.log."
    )


@template(level=1)
def start(draw: Draw) -> Made:
    """Start a service."""
    service = _service(draw)
    return Made(
        f"{_about(service)} Start it.",
        service.setup(),
        State(service.answers(draw.word())),
        Solution((f"{service.name}ctl start",)),
    )


@template(level=1)
def stop(draw: Draw) -> Made:
    """Stop a service."""
    service, other = _service(draw), _service(draw)
    first = other.setup(owner=3002, number=3002)
    setup = service.setup(f"{service.name}ctl start && {other.name}ctl start")
    return Made(
        f"{_about(service)} Stop it. Leave other services running.",
        Setup(first.files + setup.files, first.scripts + setup.scripts, setup.start),
        State(
            (Fact("running", {"text": f"/usr/local/sbin/{service.name}d"}, 0), *other.answers(draw.word()))
        ),
        Solution((f"{service.name}ctl stop",)),
    )


@template(level=2)
def change_setting(draw: Draw) -> Made:
    """Change a setting of a running service."""
    service, greeting = _service(draw), draw.token()
    return Made(
        f"{_about(service)} It is running. Set its greeting to {greeting} and see to it that the running "
        "service uses it.",
        service.setup(f"{service.name}ctl start"),
        State(service.answers(draw.word(), greeting)),
        Solution(
            (f"sed -i 's/^greeting = .*/greeting = {greeting}/' {service.conf} && {service.name}ctl restart",)
        ),
    )


@template(level=2)
def fix_configuration(draw: Draw) -> Made:
    """Repair a configuration and start the service."""
    service = _service(draw)
    key = draw.choice(("user", "data", "lock"))
    fault = draw.choice(("misspelt", "missing"))
    value = service.settings[key]
    service.changed[key] = None
    if fault == "misspelt":
        service.changed[f"{key[:-1]}{key[-1]}s"] = value
    wrong = f"s/^{key}s = /{key} = /" if fault == "misspelt" else f"$ a {key} = {value}"
    hint = {
        "user": f"its user is {value}",
        "data": f"its data folder is {value}",
        "lock": f"its lock file is {value}",
    }[key]
    return Made(
        f"{_about(service)} It does not start. Find out why, repair its configuration ({hint}) and start it.",
        service.setup(),
        State(service.answers(draw.word())),
        Solution(
            (
                f"{service.name}ctl start; tail -n 1 /var/log/{service.name}.log",
                f"sed -i '{wrong}' {service.conf}; {service.name}ctl start",
            )
        ),
    )


@template(level=3)
def data_folder(draw: Draw) -> Made:
    """Repair the rights of a service's folder."""
    service = _service(draw)
    path = f"/var/lib/{service.name}"
    return Made(
        f"{_about(service)} It does not start. Find out why, repair it and start it. It must go on running "
        f"as the account {service.name}, and only that account may have access to {path}.",
        service.setup(owner=0),
        State(
            (
                *service.answers(draw.word()),
                Fact("owner", {"path": f"{path}/state"}, f"{service.name}:{service.name}"),
                Fact("may", {"path": path, "user": "nobody", "do": "list"}, False),
            )
        ),
        Solution(
            (
                f"{service.name}ctl start; tail -n 1 /var/log/{service.name}.log",
                f"chown {service.name}:{service.name} {path} && chmod 700 {path} && {service.name}ctl start",
            )
        ),
    )


@template(level=2)
def stale_pid(draw: Draw) -> Made:
    """Start a service after a crash."""
    service = _service(draw)
    return Made(
        f"{_about(service)} The machine lost power while it was running, and now it does not start. Get it "
        "to run again.",
        service.setup(f"echo 99999999 > /run/{service.name}.pid"),
        State(service.answers(draw.word())),
        Solution((f"rm /run/{service.name}.pid && {service.name}ctl start",)),
    )


@template(level=3)
def held_lock(draw: Draw) -> Made:
    """End what is in a service's way."""
    service, holder = _service(draw), f"{draw.word()}-helper"
    lock = service.settings["lock"]
    bystander = f"{draw.word()}-helper"
    programs = running(
        [sleeper(holder, f"exec 9>> {lock}; flock 9; "), sleeper(bystander)], [holder, bystander]
    )
    return Made(
        f"{_about(service)} It does not start, since a program left over from long ago is in its way. Find "
        "that program, end it and no other, and start the service. Leave its configuration as it is.",
        service.setup(programs),
        State(
            (
                *service.answers(draw.word()),
                Fact("running", {"text": f"{holder} 1000000"}, 0),
                Fact("running", {"text": f"{bystander} 1000000"}, 1),
                Fact("lines", {"path": service.conf}, service.lines),
            )
        ),
        Solution(
            (
                f"{service.name}ctl start; tail -n 1 /var/log/{service.name}.log",
                f"for p in /proc/[0-9]*; do ls -l $p/fd | grep -q {lock}'$' && kill ${{p#/proc/}}; done",
                f"{service.name}ctl start",
            )
        ),
    )


@template(level=2)
def question(draw: Draw) -> Made:
    """Ask a service something."""
    service, word = _service(draw), draw.word()
    code = draw.token()
    service.changed["greeting"] = f"{code} is what I say to"
    return Made(
        f"{_about(service)} It is running. A line sent to its Unix socket /run/{service.name}.sock is "
        f"answered with a line. What is the first word of its answer to the line {word}? The configuration "
        "was changed since it was started.",
        service.setup(
            f"{service.name}ctl start\nsed -i 's/^greeting = .*/greeting = {draw.token()}/' {service.conf}",
        ),
        Answer(code, "string"),
        Solution(
            (
                "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); "
                f's.connect("/run/{service.name}.sock"); s.sendall(b"{word}\\n"); '
                "print(s.makefile().readline().split()[0])'",
            )
        ),
    )


@template(level=2, held_out=True)
def wrong_user(draw: Draw) -> Made:
    """Let a service run as its own account."""
    service = _service(draw)
    service.changed["user"] = draw.account()
    return Made(
        f"{_about(service)} It does not start, since its configuration names an account that is gone. It "
        f"should run as the account {service.name}. Repair it and start it.",
        service.setup(),
        State(
            (
                *service.answers(draw.word()),
                Fact("owner", {"path": f"/var/lib/{service.name}/state"}, f"{service.name}:{service.name}"),
            )
        ),
        Solution(
            (f"sed -i 's/^user = .*/user = {service.name}/' {service.conf} && {service.name}ctl start",)
        ),
    )

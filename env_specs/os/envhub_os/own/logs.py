"""Tasks about logs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from envhub_os.own.draw import Draw
from envhub_os.own.template import Family, Made
from envhub_os.task import Answer, Fact, File, Script, Setup, Solution, State

FAMILY = Family("logs")
template = FAMILY.template


@dataclass(frozen=True)
class _Request:
    """A line of a web server's log."""

    address: str
    day: int
    second: int
    path: str
    status: int
    size: int

    def line(self) -> str:
        """Return it in the common log format."""
        hours, rest = divmod(self.second, 3600)
        time = f"{self.day:02}/Feb/2024:{hours:02}:{rest // 60:02}:{rest % 60:02} +0000"
        return f'{self.address} - - [{time}] "GET {self.path} HTTP/1.1" {self.status} {self.size}'


def _requests(draw: Draw, count: int) -> list[_Request]:
    addresses = [draw.address() for _ in range(12)]
    paths = [f"/{word}.html" for word in draw.words(8)]
    statuses = (200, 200, 200, 200, 304, 301, 404, 500, 503)
    times = sorted((draw.number(1, 5), draw.number(0, 86399)) for _ in range(count))
    return [
        _Request(
            draw.choice(addresses),
            day,
            second,
            draw.choice(paths),
            draw.choice(statuses),
            draw.number(200, 9000),
        )
        for day, second in times
    ]


def _file(path: str, requests: list[_Request]) -> File:
    return File(path, "".join(f"{request.line()}\n" for request in requests))


@template(level=1)
def count_status(draw: Draw) -> Made:
    """How many requests had a status."""
    path, requests = f"/var/log/{draw.word()}/access.log", _requests(draw, draw.number(1400, 1900))
    status = draw.choice((404, 500, 503, 301))
    return Made(
        f"How many requests in {path} were answered with the status {status}? The status is the number "
        "after the request in quotation marks. Answer with the number.",
        Setup((_file(path, requests),)),
        Answer(str(sum(request.status == status for request in requests)), "integer"),
        Solution((f"awk '$9 == {status}' {path} | wc -l",)),
    )


@template(level=2)
def busiest_client(draw: Draw) -> Made:
    """Which client made the most requests."""
    path, requests = f"/var/log/{draw.word()}/access.log", _requests(draw, 600)
    most = max(Counter(request.address for request in requests).values())
    chosen = draw.address()
    some = draw.sample(requests, most + draw.number(2, 6))
    requests += [_Request(chosen, r.day, r.second, r.path, r.status, r.size) for r in some]
    requests.sort(key=lambda request: (request.day, request.second))
    return Made(
        "Which client, that is which IP address at the beginning of the lines, made the most requests in "
        f"{path}?",
        Setup((_file(path, requests),)),
        Answer(chosen, "string"),
        Solution((f"cut -d' ' -f1 {path} | sort | uniq -c | sort -rn | head -1 | awk '{{print $2}}'",)),
    )


@template(level=2)
def bytes_of_path(draw: Draw) -> Made:
    """How many bytes were sent of a page."""
    path, requests = f"/var/log/{draw.word()}/access.log", _requests(draw, 500)
    page = draw.choice(requests).path
    total = sum(request.size for request in requests if request.path == page and request.status == 200)
    return Made(
        f"By {path}, how many bytes were sent in all for requests of {page} that were answered with the "
        "status 200? The bytes are the last number of a line. Answer with the number.",
        Setup((_file(path, requests),)),
        Answer(str(total), "integer"),
        Solution((f"awk '$7 == \"{page}\" && $9 == 200 {{s += $10}} END {{print s}}' {path}",)),
    )


@template(level=2)
def first_error_after(draw: Draw) -> Made:
    """The first error after a time."""
    path = f"/var/log/{draw.word()}.log"
    seconds = sorted(draw.sample(range(86400), 500))
    rows = [
        (
            f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}",
            draw.choice(("INFO", "INFO", "WARN", "ERROR")),
            draw.number(10**6, 10**7),
        )
        for s in seconds
    ]
    after = rows[draw.number(200, 400)][0]
    chosen = next(number for time, level, number in rows if time > after and level == "ERROR")
    lines = [f"2024-02-20 {time} {level} request={number} {draw.some_word()}" for time, level, number in rows]
    return Made(
        f"What is the request number of the first line of level ERROR in {path} that is later than {after}? "
        "Answer with the number.",
        Setup((File(path, "\n".join(lines) + "\n"),)),
        Answer(str(chosen), "integer"),
        Solution(
            (f'awk \'$2 > "{after}" && $3 == "ERROR" {{sub("request=", "", $4); print $4; exit}}\' {path}',)
        ),
    )


@template(level=3)
def trace_user(draw: Draw) -> Made:
    """Follow a failure through three logs."""
    root = f"/var/log/{draw.word()}"
    people = [draw.account() for _ in range(20)]
    sessions = {f"s{draw.number(10**6, 10**7)}": draw.choice(people) for _ in range(80)}
    requests = {draw.number(10**7, 10**8): draw.choice(list(sessions)) for _ in range(200)}
    failed = draw.choice(list(requests))
    auth = [f"login session={session} user={name}" for session, name in sessions.items()]
    app = [f"request={number} session={session} {draw.some_word()}" for number, session in requests.items()]
    errors = [
        f"{'PANIC' if number == failed else 'ERROR'} in request={number}: {draw.sentence()}"
        for number in [*draw.sample([n for n in requests if n != failed], 40), failed]
    ]
    return Made(
        f"{root}/error.log has one line of level PANIC, which names a request. {root}/app.log says to which "
        f"session each request belonged, {root}/auth.log whose session each was. Which user's request led "
        "to the panic?",
        Setup(
            tuple(
                File(f"{root}/{name}.log", "\n".join(draw.shuffled(lines)) + "\n")
                for name, lines in (("auth", auth), ("app", app), ("error", errors))
            )
        ),
        Answer(sessions[requests[failed]], "string"),
        Solution(
            (
                f"cd {root}; r=$(grep PANIC error.log | grep -o 'request=[0-9]*')",
                's=$(grep "^$r " app.log | grep -o "session=s[0-9]*")',
                'grep "$s " auth.log | sed "s/.*user=//"',
            )
        ),
    )


@template(level=3)
def split_by_day(draw: Draw) -> Made:
    """Split a log by day."""
    root, requests = f"/var/log/{draw.word()}", _requests(draw, 120)
    days = sorted({request.day for request in requests})
    by_day = {day: [request.line() for request in requests if request.day == day] for day in days}
    return Made(
        f"Split {root}/access.log by day: write the lines of each day, in their order, to "
        f"{root}/access-2024-02-DD.log, DD being the day with two digits. Then delete access.log.",
        Setup((_file(f"{root}/access.log", requests),)),
        State(
            (
                Fact("tree", {"path": root}, [f"access-2024-02-{day:02}.log" for day in days]),
                *(
                    Fact("lines", {"path": f"{root}/access-2024-02-{d:02}.log"}, text)
                    for d, text in by_day.items()
                ),
            )
        ),
        Solution(
            (
                f'cd {root} && awk \'{{print > ("access-2024-02-" substr($4, 2, 2) ".log")}}\' access.log && '
                "rm access.log",
            )
        ),
    )


@template(level=2)
def rotated(draw: Draw) -> Made:
    """Count over plain and compressed logs."""
    root, requests = f"/var/log/{draw.word()}", _requests(draw, 1200)
    address = draw.address()
    requests = [
        _Request(address, r.day, r.second, r.path, r.status, r.size) if draw.number(1, 5) == 1 else r
        for r in requests
    ]
    parts = [requests[900:], requests[600:900], requests[300:600], requests[:300]]
    names = ["access.log", "access.log.1", "access.log.2", "access.log.3"]
    return Made(
        f"The web server's log in {root} is in several files, the older ones compressed. How many requests "
        f"are in them all together from the address {address}? Answer with the number.",
        Setup(
            tuple(_file(f"{root}/{name}", part) for name, part in zip(names, parts)),
            (Script(f"gzip {root}/access.log.2 {root}/access.log.3"),),
        ),
        Answer(str(sum(request.address == address for request in requests)), "integer"),
        Solution((f"zcat -f {root}/access.log* | grep -c '^{address} '",)),
    )


@template(level=3)
def block_list(draw: Draw) -> Made:
    """List who failed too often."""
    path, target = f"/var/log/{draw.word()}.log", f"/etc/{draw.word()}.blocked"
    failures = {draw.address(): draw.number(1, 9) for _ in range(30)}
    limit = draw.number(4, 6)
    lines = [
        f"sshd: Failed password for {draw.some_word()} from {address} port {draw.number(1024, 65000)}"
        for address, count in failures.items()
        for _ in range(count)
    ]
    lines += [
        f"sshd: Accepted password for {draw.some_word()} from {address} port {draw.number(1024, 65000)}"
        for address in failures
        for _ in range(3)
    ]
    return Made(
        f"{path} is the log of an SSH server. Write the IP addresses with more than {limit} failed "
        f"passwords to {target}, one a line, each only once, sorted by byte values (as in the C locale).",
        Setup((File(path, "\n".join(draw.shuffled(lines)) + "\n"),)),
        State(
            (Fact("lines", {"path": target}, sorted(a for a, count in failures.items() if count > limit)),)
        ),
        Solution(
            (
                f"grep 'Failed password' {path} | grep -o 'from [0-9.]*' | cut -d' ' -f2 | sort | uniq -c | "
                f"awk '$1 > {limit} {{print $2}}' | LC_ALL=C sort > {target}",
            )
        ),
    )


@template(level=2, held_out=True)
def slowest(draw: Draw) -> Made:
    """Which request took longest."""
    path = f"/var/log/{draw.word()}.log"
    times = draw.sample(range(50, 30000), 400)
    numbers = [draw.number(10**6, 10**7) for _ in times]
    lines = [
        f"request={number} path=/{draw.some_word()} time={time}ms" for number, time in zip(numbers, times)
    ]
    return Made(
        f"What is the request number of the slowest request in {path}? Answer with the number.",
        Setup((File(path, "\n".join(lines) + "\n"),)),
        Answer(str(numbers[times.index(max(times))]), "integer"),
        Solution(
            (
                f"sed 's/request=\\([0-9]*\\).*time=\\([0-9]*\\)ms/\\2 \\1/' {path} | sort -n | tail -1 | "
                "cut -d' ' -f2",
            )
        ),
    )

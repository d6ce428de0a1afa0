"""Tasks about the text in files."""

from __future__ import annotations

from collections import Counter

from envhub_os.own.draw import Draw
from envhub_os.own.template import Family, Made
from envhub_os.task import Answer, Fact, File, Setup, Solution, State

FAMILY = Family("text")
template = FAMILY.template


@template(level=1)
def line_number(draw: Draw) -> Made:
    """On which line a text stands."""
    path, phrase = f"/srv/{draw.word()}.txt", draw.token()
    lines = draw.text(draw.number(900, 1500)).splitlines()
    at = draw.number(301, len(lines))
    lines[at - 1] += f" {phrase}"
    return Made(
        f"On which line of {path} does the text {phrase} stand? The first line is line 1. Answer with the "
        "number.",
        Setup((File(path, "\n".join(lines) + "\n"),)),
        Answer(str(at), "integer"),
        Solution((f"grep -n -- {phrase} {path} | cut -d: -f1",)),
    )


@template(level=1)
def count_distinct(draw: Draw) -> Made:
    """How many values a column has."""
    path = f"/srv/{draw.word()}.csv"
    places = [draw.address() for _ in range(draw.number(120, 260))]
    rows = places + [draw.choice(places) for _ in range(500)]
    lines = [f"{draw.some_word()},{place},{draw.number(1, 99)}" for place in draw.shuffled(rows)]
    return Made(
        f"How many different values are in the second column of {path}? Columns are separated by commas; "
        "there is no header. Answer with the number.",
        Setup((File(path, "\n".join(lines) + "\n"),)),
        Answer(str(len(set(places))), "integer"),
        Solution((f"cut -d, -f2 {path} | sort -u | wc -l",)),
    )


@template(level=2)
def column_sum(draw: Draw) -> Made:
    """The sum of a column, of some rows."""
    path, cities = f"/srv/{draw.word()}.csv", draw.words(5)
    rows = [(draw.some_word(), draw.choice(cities), draw.number(10, 9999)) for _ in range(400)]
    city = cities[0]
    lines = ["customer,city,amount", *(f"{name},{place},{amount}" for name, place, amount in rows)]
    return Made(
        f"The table {path} lists orders. What is the sum of the amounts of all orders from the city {city}? "
        "Answer with the number.",
        Setup((File(path, "\n".join(lines) + "\n"),)),
        Answer(str(sum(amount for _, place, amount in rows if place == city)), "integer"),
        Solution((f"awk -F, '$2 == \"{city}\" {{s += $3}} END {{print s}}' {path}",)),
    )


@template(level=1)
def replace_value(draw: Draw) -> Made:
    """Change a value in several files."""
    root, old, new = f"/etc/{draw.word()}", draw.token(), draw.token()
    names = [f"{root}/{draw.word()}.conf" for _ in range(8)]
    texts = [
        [f"{draw.word()} = {draw.choice((old, old, draw.address()))}" for _ in range(4)] + [f"# {old}-backup"]
        for _ in names
    ]
    wanted = [[line.replace(f"= {old}", f"= {new}") for line in text] for text in texts]
    return Made(
        f"The server {old} was replaced by {new}. In the .conf files in {root}, set every value that is "
        f"{old} to {new}. Lines look like `name = value`; leave comments as they are.",
        Setup(tuple(File(path, "\n".join(text) + "\n") for path, text in zip(names, texts))),
        State(tuple(Fact("lines", {"path": path}, text) for path, text in zip(names, wanted))),
        Solution((f"sed -i 's/= {old}$/= {new}/' {root}/*.conf",)),
    )


@template(level=2)
def top_word(draw: Draw) -> Made:
    """The most frequent word."""
    path, words = f"/srv/{draw.word()}.txt", draw.words(30)
    codes = [f"{word}{draw.number(100, 999)}" for word in words]
    chosen = codes[0]
    text = [draw.choice(codes[1:]) for _ in range(900)]
    most = max(Counter(text).values())
    text = draw.shuffled(text + [chosen] * (most + draw.number(2, 5)))
    lines = [" ".join(text[at : at + 9]) for at in range(0, len(text), 9)]
    return Made(
        f"Which word is the most frequent one in {path}? Words are separated by blanks and line ends.",
        Setup((File(path, "\n".join(lines) + "\n"),)),
        Answer(chosen, "string"),
        Solution((f"tr -s ' ' '\\n' < {path} | sort | uniq -c | sort -rn | head -1 | awk '{{print $2}}'",)),
    )


@template(level=1)
def sort_unique(draw: Draw) -> Made:
    """Sort lines, each once."""
    root = f"/srv/{draw.word()}"
    codes = [draw.token() for _ in range(25)]
    lines = draw.shuffled(codes + draw.sample(codes, 12))
    return Made(
        f"Write the lines of {root}/in.txt, sorted by byte values (as in the C locale) and each only once, "
        f"to {root}/out.txt. Leave in.txt as it is.",
        Setup((File(f"{root}/in.txt", "\n".join(lines) + "\n"),)),
        State(
            (
                Fact("lines", {"path": f"{root}/out.txt"}, sorted(codes)),
                Fact("lines", {"path": f"{root}/in.txt"}, lines),
            )
        ),
        Solution((f"LC_ALL=C sort -u {root}/in.txt > {root}/out.txt",)),
    )


@template(level=3)
def join_tables(draw: Draw) -> Made:
    """A sum over two tables."""
    root, kinds = f"/srv/{draw.word()}", draw.words(4)
    items = {
        f"{draw.word()}{draw.number(10, 99)}": (draw.choice(kinds), draw.number(2, 90)) for _ in range(30)
    }
    orders = [(draw.choice(list(items)), draw.number(1, 40)) for _ in range(300)]
    kind = items[orders[0][0]][0]
    total = sum(items[name][1] * count for name, count in orders if items[name][0] == kind)
    stock = [f"{name};{kind_};{price}" for name, (kind_, price) in draw.shuffled(list(items.items()))]
    sold = [f"{number};{name};{count}" for number, (name, count) in enumerate(orders, 5001)]
    return Made(
        f"{root}/items.txt has a line `item;kind;price` for each item, {root}/orders.txt a line "
        f"`number;item;count` for each order. How much do all orders of items of the kind {kind} cost "
        "together (price times count)? Answer with the number.",
        Setup(
            (
                File(f"{root}/items.txt", "\n".join(stock) + "\n"),
                File(f"{root}/orders.txt", "\n".join(sold) + "\n"),
            )
        ),
        Answer(str(total), "integer"),
        Solution(
            (
                f"awk -F';' 'NR == FNR {{k[$1] = $2; p[$1] = $3; next}} "
                f'k[$2] == "{kind}" {{s += p[$2] * $3}} END {{print s}}\' {root}/items.txt {root}/orders.txt',
            )
        ),
    )


@template(level=2)
def collect_addresses(draw: Draw) -> Made:
    """Collect what stands in brackets."""
    root = f"/srv/{draw.word()}"
    found = sorted({f"{draw.word()}.{draw.some_word()}@{draw.some_word()}.example" for _ in range(18)})
    mentions = draw.shuffled(found + draw.sample(found, 6))
    lines = [f"{draw.sentence()} <{address}> {draw.sentence()}" for address in mentions]
    lines = draw.shuffled(lines + draw.text(30).splitlines())
    return Made(
        f"Collect the e-mail addresses in {root}/mail.txt, which stand between < and >, into "
        f"{root}/addresses.txt: one a line, each only once, sorted by byte values (as in the C locale).",
        Setup((File(f"{root}/mail.txt", "\n".join(lines) + "\n"),)),
        State((Fact("lines", {"path": f"{root}/addresses.txt"}, found),)),
        Solution(
            (f"grep -o '<[^>]*>' {root}/mail.txt | tr -d '<>' | LC_ALL=C sort -u > {root}/addresses.txt",)
        ),
    )


@template(level=3)
def write_filter(draw: Draw) -> Made:
    """Write a program that is tried with several inputs."""
    name = f"{draw.word()}-stats"
    rule, awk = draw.choice(
        (
            ("the sum of the even ones", "$1 % 2 == 0 {s += $1} END {print s + 0}"),
            (
                "the difference of the greatest and the least",
                "NR == 1 {a = b = $1} $1 < a {a = $1} $1 > b {b = $1} END {print b - a}",
            ),
            (
                "how many are greater than the one before",
                "NR > 1 && $1 > last {s++} {last = $1} END {print s + 0}",
            ),
            (
                "the sum of every third one, beginning with the third",
                "NR % 3 == 0 {s += $1} END {print s + 0}",
            ),
        )
    )
    path = f"/usr/local/bin/{name}"
    facts = []
    for _ in range(3):
        numbers = [draw.number(1, 5000) for _ in range(draw.number(12, 40))]
        text = "".join(f"{number}\n" for number in numbers)
        facts.append(Fact("run", {"argv": [path], "stdin": text}, [0, [str(_stats(rule, numbers))]]))
    return Made(
        f"Make a command {path} that reads whole numbers from its standard input, one a line, and prints "
        f"{rule}, nothing else. There are always at least three numbers, all from 1 to 5000.",
        Setup(),
        State(tuple(facts)),
        Solution((f"cat > {path} <<'END'\n#!/bin/sh\nexec awk '{awk}'\nEND\nchmod 755 {path}",)),
    )


def _stats(rule: str, numbers: list[int]) -> int:
    if rule.startswith("the sum of the even"):
        return sum(number for number in numbers if number % 2 == 0)
    if rule.startswith("the difference"):
        return max(numbers) - min(numbers)
    if rule.startswith("how many"):
        return sum(later > earlier for earlier, later in zip(numbers, numbers[1:]))
    return sum(numbers[2::3])


@template(level=2, held_out=True)
def swap_columns(draw: Draw) -> Made:
    """Write a table in another form."""
    root = f"/srv/{draw.word()}"
    rows = [(draw.word(), draw.number(100, 999), draw.address()) for _ in range(20)]
    lines = [f"{name},{number},{address}" for name, number, address in rows]
    return Made(
        f"Write the table {root}/table.csv to {root}/table.tsv with its three columns in the opposite "
        "order, separated by tabs instead of commas.",
        Setup((File(f"{root}/table.csv", "\n".join(lines) + "\n"),)),
        State((Fact("lines", {"path": f"{root}/table.tsv"}, [f"{c}\t{b}\t{a}" for a, b, c in rows]),)),
        Solution((f"awk -F, -v OFS='\\t' '{{print $3, $2, $1}}' {root}/table.csv > {root}/table.tsv",)),
    )

from envhub_webshop.actions import parse_faithful, parse_fixed
from hypothesis import given, settings
from hypothesis import strategies as st

LABELS = st.text(min_size=1, max_size=30).filter(lambda text: text.strip() and "\n" not in text)


def test_the_faithful_grammar_is_greedy_and_exact() -> None:
    assert parse_faithful("search[Red Shoes]") == ("search", "red shoes")
    assert parse_faithful("click[ Buy Now ] please") == ("click", " buy now ")
    assert parse_faithful("click[a[b]]") == ("click[a", "b]")
    assert parse_faithful("click[a] or click[b]") == ("click[a] or click", "b")
    assert parse_faithful("pre click[x]") == ("pre click", "x")
    assert parse_faithful("search[new\nline]") is None
    assert parse_faithful("search[]") is None
    assert parse_faithful("buy now") is None


def test_the_fixed_grammar_forgives_form_but_not_meaning() -> None:
    assert parse_fixed(" Click [ Buy Now ].") == ("click", "buy now")
    assert parse_fixed("click[a[b]]") == ("click", "a[b]")
    assert parse_fixed("search[new\nline]") == ("search", "new\nline")
    assert parse_fixed("search[]") == ("search", "")
    assert parse_fixed("pre click[x]") is None
    assert parse_fixed("click x") is None
    assert parse_fixed("\uff53earch[shoes]") is None


@settings(derandomize=True, deadline=None)
@given(LABELS)
def test_every_label_can_be_clicked_in_the_fixed_grammar(label: str) -> None:
    assert parse_fixed(f"click[{label}]") == ("click", label.strip().lower())


@settings(derandomize=True, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_an_action_or_none(text: str) -> None:
    for parsed in (parse_fixed(text), parse_faithful(text)):
        assert parsed is None or parsed[1] == parsed[1].lower()
    fixed = parse_fixed(text)
    assert fixed is None or fixed[0] in ("search", "click")


@settings(derandomize=True, deadline=None)
@given(st.sampled_from(["search", "click"]), LABELS.filter(lambda text: not set("[]") & set(text)))
def test_plain_actions_mean_the_same_in_both_grammars(verb: str, argument: str) -> None:
    faithful = parse_faithful(f"{verb}[{argument}]")
    assert faithful is not None
    assert parse_fixed(f"{verb}[{argument}]") == (faithful[0], faithful[1].strip())

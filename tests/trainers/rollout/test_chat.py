"""Chat templates, applied a message at a time."""

import pytest

from envhub_trainers._chat import Chat, TemplateRefused

TALK = [("one", "You play."), ("two", "ok then"), ("three", "end <s> user delta")]


def render(tokenizer, messages):
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)


def test_the_conversation_is_what_the_template_makes_of_it(model):
    script = model(lambda number: "")
    tokenizer, chat = script.tokenizer, Chat(script.tokenizer)
    end = tokenizer.encode(script.end, add_special_tokens=False)
    ids = chat.opening("Be brief.", "first")
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "first"}]
    if script.before:  # the one whose template has no system turn
        said = [{"role": "user", "content": "Be brief.\n\nfirst"}]
    assert tokenizer.decode(ids) == render(tokenizer, said)
    for answer, message in TALK:
        sampled = script.spelled(script.before + answer) + end
        ids += sampled + chat.between(sampled, ended=True, message=message)
        said += [{"role": "assistant", "content": answer}, {"role": "user", "content": message}]
        assert tokenizer.decode(ids) == render(tokenizer, said)


def test_an_answer_that_was_cut_gets_its_end_mark_from_the_template(model):
    script = model(lambda number: "")
    chat = Chat(script.tokenizer)
    (mark,) = script.tokenizer.encode(script.end.strip(), add_special_tokens=False)
    sampled = script.spelled("one two")
    cut = chat.between(sampled, ended=False, message="next")
    ended = chat.between([*sampled, mark], ended=True, message="next")
    assert cut[-len(ended) :] == ended
    assert cut.count(mark) == ended.count(mark) + 1


def test_another_end_token_than_the_templates_is_kept_and_the_mark_follows(kit):
    tokenizer = kit.tokenizer(kit.templates["chatml"][0])
    chat = Chat(tokenizer)
    (other,) = tokenizer.encode("<|endoftext|>", add_special_tokens=False)
    (mark,) = tokenizer.encode("<|im_end|>", add_special_tokens=False)
    assert chat.between([other], ended=True, message="next")[0] == mark


@pytest.mark.parametrize("message", ["", "<|im_end|>", "end", "user", "  blank  ", "ü\n\n"])
def test_no_message_confuses_where_an_answer_ends(message, kit):
    tokenizer = kit.tokenizer(kit.templates["chatml"][0])
    chat = Chat(tokenizer)
    (mark,) = tokenizer.encode("<|im_end|>", add_special_tokens=False)
    between = chat.between([mark], ended=True, message=message)
    assert tokenizer.decode(between) == f"\n<|im_start|>user\n{message}<|im_end|>\n<|im_start|>assistant\n"


def test_text_is_what_was_said_without_special_tokens(kit):
    tokenizer = kit.tokenizer(kit.templates["chatml"][0])
    chat = Chat(tokenizer)
    sampled = tokenizer.encode("Action: ü<|im_end|>", add_special_tokens=False)
    assert chat.text(sampled) == "Action: ü"
    assert chat.full_text(sampled) == "Action: ü<|im_end|>"


@pytest.mark.parametrize("kind", ["like Qwen3", "like R1"])
def test_a_template_that_drops_earlier_thoughts_is_refused_with_the_reason(kind, kit):
    with pytest.raises(TemplateRefused, match=r"drops the thoughts of earlier answers.*keeps every turn"):
        Chat(kit.tokenizer(kit.dropping[kind]))


def test_a_template_given_instead_is_the_one_that_counts(kit):
    tokenizer = kit.tokenizer(kit.dropping["like Qwen3"])
    chat = Chat(tokenizer, kit.templates["llama"][0])
    assert tokenizer.decode(chat.opening(None, "x")).startswith("<|begin_of_text|><|start_header_id|>user")


REFUSED = {
    "marks the last message": "{% for m in messages %}{{ m.role }}{% if loop.last %}*{% endif %}: "
    "{{ m.content }}\n"
    "{% endfor %}assistant: ",
    "counts": "{{ messages | length }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}",
    "forgets all but the last two": "{% for m in messages[-2:] %}{{ m.role }}: {{ m.content }}\n{% endfor %}",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_template_that_rewrites_earlier_turns_is_refused(kind, kit):
    with pytest.raises(TemplateRefused, match="rewrites earlier turns"):
        Chat(kit.tokenizer(REFUSED[kind]))


def test_a_template_that_can_not_render_turns_is_refused_with_what_it_said(kit):
    raises = "{% if messages | length > 1 %}{{ raise_exception('one message only') }}{% endif %}x"
    with pytest.raises(TemplateRefused, match="one message only"):
        Chat(kit.tokenizer(raises))


def test_without_a_template_there_is_no_chat(kit):
    with pytest.raises(TemplateRefused, match="no chat template"):
        Chat(kit.tokenizer(None))

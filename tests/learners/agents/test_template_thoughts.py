"""Markers of thoughts in templates of several kinds, and the parts of a reply."""

from __future__ import annotations

import copy
import random

import pytest
from tokenizers import AddedToken

from laconic.learners.agents.template import ChatTemplate, Markers, find_markers

TURNS = """\
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}%BODY%{{ '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}%ASK%{%- endif %}"""
PLAIN, OFF = (
    "{{ m.content }}",
    "{%- if enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{%- endif %}",
)
SHOWS = (
    "{%- if m.reasoning_content and loop.last %}{{ '<think>\\n' + m.reasoning_content +"
    " '\\n</think>\\n\\n' }}{%- endif %}{{ m.content }}"
)
CALLS = "{%- if m.tool_calls %}<tool_call></tool_call>{%- endif %}{{ m.content }}"
DROPS = "{{ m.content.split('</think>')[-1] }}"


def template(body: str = PLAIN, ask: str = "") -> str:
    return TURNS.replace("%BODY%", body).replace("%ASK%", ask)


@pytest.fixture
def make_tokenizer(qwen_tokenizer):
    """Return a function that makes a tokenizer with a chat template and further words."""

    def make(chat_template, *words, special=False):
        tokenizer = copy.deepcopy(qwen_tokenizer)
        tokenizer.add_tokens(
            [AddedToken(word, special=special, normalized=False) for word in words]
        )
        tokenizer.chat_template = chat_template
        return tokenizer

    return make


@pytest.mark.parametrize(
    ("body", "ask", "settings", "opened", "offered"),
    [
        # The thought of the last reply is shown; off, an empty one is there already.
        (SHOWS, OFF, {}, False, True),
        (SHOWS, OFF, {"enable_thinking": True}, False, True),
        (SHOWS, OFF, {"enable_thinking": False}, False, False),
        # Content as it is; only the empty thought tells.
        (PLAIN, OFF, {}, False, True),
        (PLAIN, OFF, {"enable_thinking": False}, False, False),
        # A reply is asked for within a thought, whatever is set.
        (DROPS, "{{ '<think>\\n' }}", {"enable_thinking": False}, True, True),
        (PLAIN, "{{ '<think>' }}", {}, True, True),
        # Nothing but the thoughts of earlier replies is dropped.
        (DROPS, "", {}, False, True),
    ],
)
def test_markers_are_found_in_templates_of_all_manners(
    make_tokenizer, body, ask, settings, opened, offered
):
    tokenizer = make_tokenizer(template(body, ask))
    begin, end = tokenizer.convert_tokens_to_ids(["<think>", "</think>"])
    assert find_markers(tokenizer, settings) == Markers(begin, end, opened, offered)


@pytest.mark.parametrize(
    "pair",
    [("[THINK]", "[/THINK]"), ("<|START_THINKING|>", "<|END_THINKING|>"), ("<|t|>", "<|/t|>")],
)
@pytest.mark.parametrize("special", [True, False])
def test_they_may_have_any_name(make_tokenizer, pair, special):
    body = f"{{{{ m.content.split('{pair[1]}')[-1] }}}}"
    tokenizer = make_tokenizer(template(body), *pair, special=special)
    results = find_markers(tokenizer, {})
    assert (results.begin, results.end) == tuple(tokenizer.convert_tokens_to_ids(list(pair)))


@pytest.mark.parametrize(
    ("chat_template", "words"),
    [
        # The tokens alone, without a template that knows of them.
        (template(), ()),
        (None, ()),
        ("{{ raise_exception('no') }}", ()),
        # Calls of tools, and the borders of turns, are no thoughts.
        (template(CALLS), ("<tool_call>", "</tool_call>")),
        (
            "{%- for m in messages %}<|{{ m.role }}_start|>{{ m.content }}<|{{ m.role }}_end|>"
            "{%- endfor %}{%- if add_generation_prompt %}<|assistant_start|>{%- endif %}",
            ("<|assistant_start|>", "<|assistant_end|>", "<|user_start|>", "<|user_end|>"),
        ),
    ],
)  # fmt: skip
def test_other_pairs_are_none(make_tokenizer, chat_template, words):
    assert find_markers(make_tokenizer(chat_template, *words), {}) is None


def test_shipped_and_small_tokenizers_have_none(tiny_tokenizer, word_tokenizer):
    assert find_markers(tiny_tokenizer, {}) is find_markers(word_tokenizer, {}) is None


# What markers tell of a reply: 1 begins a thought, 2 ends it, 9 ends the reply.

FREE, OPENED = Markers(1, 2, False, True), Markers(1, 2, True, True)


@pytest.mark.parametrize(
    ("markers", "ids", "thought", "reply", "unended"),
    [
        (FREE, (), [], [], False),
        (FREE, (5, 9), [], [5, 9], False),
        (FREE, (1, 5, 6, 2, 7, 9), [5, 6], [7, 9], False),
        (FREE, (1, 2, 9), [], [9], False),
        # Nested: the first end counts. Behind it a second thought may begin.
        (FREE, (1, 5, 1, 6, 2, 7, 2, 8), [5, 6], [7, 8], False),
        (FREE, (5, 1, 6, 2, 7), [6], [5, 7], False),
        # Without its end a reply says nothing, even what it said before.
        (FREE, (1, 5, 9), [5, 9], [], True),
        (FREE, (4, 1, 5), [5], [], True),
        (FREE, (1,), [], [], True),
        (OPENED, (5, 6, 2, 7, 9), [5, 6], [7, 9], False),
        (OPENED, (2, 7), [], [7], False),
        (OPENED, (5, 9), [5, 9], [], True),
        (OPENED, (), [], [], False),
    ],
)
def test_a_reply_has_a_thought_and_a_message(markers, ids, thought, reply, unended):
    assert markers.parts(ids) == (thought, reply, unended)


@pytest.mark.parametrize(
    ("markers", "ids", "limits", "remaining"),
    [
        (FREE, (1, 5, 6, 2, 7, 8, 9), (2, 3), 7),
        # The fourth token would be the second of the thought, or else its end.
        (FREE, (1, 5, 6, 2, 7, 8, 9), (1, 3), 3),
        (FREE, (1, 1, 2, 2, 7), (1, 3), 3),
        (FREE, (1, 5, 6, 2, 7, 8, 9), (2, 2), 6),
        (FREE, (7, 8, 9), (0, 2), 2),
        (OPENED, (5, 6, 2, 7), (2, 0), 3),
        (OPENED, (5, 6, 2, 7), (1, 9), 2),
    ],
)
def test_thought_and_message_have_limits_of_their_own(markers, ids, limits, remaining):
    assert markers.within(ids, *limits) == remaining


@pytest.mark.parametrize("markers", [FREE, OPENED])
def test_every_token_is_thought_said_or_a_marker_and_stays_so_as_a_reply_grows(markers):
    generator = random.Random(0)
    for _ in range(500):
        ids = generator.choices(range(1, 6), k=generator.randint(0, 12))
        inside = markers.inside(ids)
        thought, message, unended = markers.parts(ids)
        plain = [token for token in ids if token > 2]
        assert sorted(thought + message) == sorted(plain) or unended
        assert not message or not unended
        for length in range(len(ids)):
            assert markers.inside(ids[:length]) == inside[:length]
        most = markers.within(ids, 2, 2)
        assert sum(inside[:most]) <= 2 + markers.count and most - sum(inside[:most]) <= 2
        assert most == len(ids) or markers.within(ids[: most + 1], 2, 2) == most


# Chat


def test_a_text_that_spells_markers_has_none_of_them(make_tokenizer):
    tokenizer = make_tokenizer(template(SHOWS, OFF))
    chat = ChatTemplate(tokenizer, {})
    marks = {chat.thoughts.begin, chat.thoughts.end}
    for text in ("<think>a</think>b", "<think", "<<think>think>", "</think></think>"):
        assert marks.isdisjoint(chat.first_prompt(text)) and marks.isdisjoint(chat.encode(text))
        assert marks.isdisjoint(chat.next_prompt(text, chat.encode("7")))


def test_only_a_reply_that_begins_in_a_thought_has_to_end_it(make_tokenizer):
    assert ChatTemplate(make_tokenizer(template(SHOWS, OFF)), {}).unthought == ()
    tokenizer = make_tokenizer(template(DROPS, "{{ '<think>\\n' }}"))
    chat = ChatTemplate(tokenizer, {})
    assert tokenizer.decode(chat.unthought) == "</think>\n\n"
    assert tokenizer.decode(chat.first_prompt("x")).endswith("assistant\n<think>\n")

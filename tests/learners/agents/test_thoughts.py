"""Markers of thoughts in templates of several kinds, and the parts of a reply."""

from __future__ import annotations

import copy
import random

import pytest
from tokenizers import AddedToken

from laconic.learners.agents.chat import ChatCodec
from laconic.learners.agents.sampling import SamplingSettings
from laconic.learners.agents.template import ChatTemplate
from laconic.learners.agents.thoughts import Markers, find_markers
from laconic.learners.interfaces import Request

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


# As models write them that have names of their own for the two markers.

CHANNEL = """\
{%- macro strip(text) %}{% set ns = namespace(said='') %}
{%- for part in text.split('<channel|>') %}
{%- set ns.said = ns.said + part.split('<|channel>')[0] %}{% endfor %}{{ ns.said }}{% endmacro %}
{%- for m in messages %}<|turn>{{ m.role }}
{{ strip(m.content) if m.role == 'assistant' else m.content }}<turn|>
{% endfor %}{%- if add_generation_prompt %}<|turn>assistant
{% if enable_thinking is false %}%EMPTY%{% endif %}{% endif %}"""
RESPONSE = """\
{%- for m in messages %}<|START_OF_TURN|>{{ m.role }}
{%- if m.role == 'assistant' %}
{%- if m.thinking %}<|START_THINKING|>{{ m.thinking }}<|END_THINKING|>{% endif %}
{{- '<|START_RESPONSE|>' + m.content + '<|END_RESPONSE|>' }}
{%- else %}{{ m.content }}{% endif %}<|END_OF_TURN|>{% endfor %}
{%- if add_generation_prompt %}<|START_OF_TURN|>assistant
{%- if reasoning is false %}<|START_THINKING|><|END_THINKING|>{% endif %}{% endif %}"""
BLOCKS = """\
{%- for m in messages %}<|{{ m.role }}_start|>
{%- if m.content is string %}{{ m.content }}{% else %}{% for block in m.content.blocks %}
{%- if block.type == 'thoughts' %}<|inner_prefix|>{{ block.text }}<|inner_suffix|>
{%- else %}{{ block.text }}{% endif %}{% endfor %}{% endif %}<|{{ m.role }}_end|>{% endfor %}
{%- if add_generation_prompt %}<|assistant_start|>{% endif %}"""
TOLD = """\
{%- set said = 'First [THINK] a draft [/THINK], then answer.' %}
{%- if messages[0].role == 'system' %}{% set said = messages[0].content %}{% endif %}
{{- '[SYSTEM]' + said + '[/SYSTEM]' }}{% for m in messages if m.role != 'system' %}
{{- '[INST]' + m.content + '[/INST]' if m.role == 'user' else m.content + '<|im_end|>' }}
{%- endfor %}"""
PARTS = TOLD.replace("First [THINK] a draft [/THINK], then", "Only").replace(
    "else m.content + ", "else parts(m.content) + "
)
PARTS = (
    """\
{%- macro parts(content) %}{% if content is string %}{{ content }}{% else %}
{%- for part in content %}{% if part.type == 'thinking' %}[THINK]{{ part.thinking }}[/THINK]
{%- else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}{% endmacro %}
"""
    + PARTS
)
SWITCHES = """\
{%- for m in messages %}{{ '<U>' + m.content if m.role == 'user' else '<A></think>' + m.content
.split('</think>')[-1] + '<|im_end|>' }}{% endfor %}
{%- if add_generation_prompt %}<A>{{ '<think>' if thinking else '</think>' }}{% endif %}"""
MIND = template(ask="<mind>{% if not enable_thinking %}<said>{% endif %}")
ON, AWAY = {"enable_thinking": True}, {"enable_thinking": False}
UNASKED = CHANNEL.replace("%EMPTY%", "")
EMPTY = CHANNEL.replace("%EMPTY%", "<|channel>thought\n<channel|>")


@pytest.mark.parametrize(
    ("chat_template", "pair", "others", "settings", "opened", "offered"),
    [
        (EMPTY, "<|channel> <channel|>", "<|turn> <turn|>", ON, False, True),
        (EMPTY, "<|channel> <channel|>", "<|turn> <turn|>", AWAY, False, False),
        # The template only drops them, each with its end.
        (UNASKED, "<|channel> <channel|>", "<|turn> <turn|>", {}, False, True),
        (
            RESPONSE,
            "<|START_THINKING|> <|END_THINKING|>",
            "<|START_RESPONSE|> <|END_RESPONSE|> <|START_OF_TURN|> <|END_OF_TURN|>",
            {},
            False,
            True,
        ),
        (
            RESPONSE,
            "<|START_THINKING|> <|END_THINKING|>",
            "<|START_RESPONSE|> <|END_RESPONSE|> <|START_OF_TURN|> <|END_OF_TURN|>",
            {"reasoning": False},
            False,
            False,
        ),
        (
            BLOCKS,
            "<|inner_prefix|> <|inner_suffix|>",
            "<|assistant_start|> <|assistant_end|> <|user_start|> <|user_end|>",
            {},
            False,
            True,
        ),
        (TOLD, "[THINK] [/THINK]", "[SYSTEM] [/SYSTEM] [INST] [/INST]", {}, False, True),
        (PARTS, "[THINK] [/THINK]", "[SYSTEM] [/SYSTEM] [INST] [/INST]", {}, False, True),
        (SWITCHES, "<think> </think>", "<U> <A>", {}, False, False),
        (SWITCHES, "<think> </think>", "<U> <A>", {"thinking": True}, True, True),
        (MIND, "<mind> <said>", "", ON, True, True),
        (MIND, "<mind> <said>", "", {}, False, False),
    ],
)  # fmt: skip
def test_markers_are_known_by_what_the_template_does(
    make_tokenizer, make_model, chat_template, pair, others, settings, opened, offered
):
    pair = pair.split()
    tokenizer = make_tokenizer(chat_template, *others.split(), *pair, special=True)
    begin, end = tokenizer.convert_tokens_to_ids(pair)
    assert find_markers(tokenizer, settings) == Markers(begin, end, opened, offered)
    # A reply as the model writes it, and what it is made to say.
    sampling = SamplingSettings(template=settings)
    codec = ChatCodec(make_model("qwen3", len(tokenizer)), tokenizer, sampling)
    thought = f"{'' if opened else pair[0]}3 + 4{pair[1]}\n" if offered else ""
    ids = (*tokenizer.encode(f"{thought}{codec._template.header}7"), codec.end_ids[0])
    reply = codec.reply_with(Request("solver_0", "?"), (), ids, (0.0,) * len(ids))
    assert (reply.thought, reply.message) == ("3 + 4" if offered else "", "7")
    assert codec.quote(Request("solver_0", "?"), "7").message == "7"
    assert codec.quote(Request("solver_0", "?"), "").message == ""


@pytest.mark.parametrize(
    ("body", "ask", "settings", "noted"),
    [
        # Words that are no tokens of their own.
        ("{% if m.thinking %}<why>{{ m.thinking }}</why>{% endif %}{{ m.content }}", "", {}, 1),
        (PLAIN, "{% if enable_thinking %}Think first: {% endif %}", {}, 1),
        (PLAIN, "", {"enable_thinking": True}, 1),
        (PLAIN, "", {"enable_thinking": False}, 0),
        (SHOWS, OFF, {"enable_thinking": True}, 0),
    ],
)
def test_thoughts_that_cannot_be_told_from_messages_are_noted(
    make_tokenizer, caplog, body, ask, settings, noted
):
    tokenizer = make_tokenizer(template(body, ask))
    tokenizer.name_or_path = f"{body}{ask}{settings}"
    ChatTemplate(tokenizer, settings), ChatTemplate(tokenizer, settings)
    assert caplog.text.count("what the model thinks is said, charged and heard") == noted


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
    assert ChatTemplate(make_tokenizer(template(SHOWS, OFF)), {}).reply("") == ()
    tokenizer = make_tokenizer(template(DROPS, "{{ '<think>\\n' }}"))
    chat = ChatTemplate(tokenizer, {})
    assert tokenizer.decode(chat.reply("7")) == "</think>\n\n7"
    assert tokenizer.decode(chat.first_prompt("x")).endswith("assistant\n<think>\n")

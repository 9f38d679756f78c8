"""Text that all agents read: a system message where the template has one, else the beginning."""

from __future__ import annotations

import copy
import os

import pytest

from laconic.learners.agents.chat import first_text
from laconic.learners.agents.template import ChatTemplate
from laconic.learners.interfaces import Request

RULES, OWN = "Add up. Say little.", "You are helper_0. There are 3 birds."


def test_a_template_with_system_messages_gets_one(qwen_tokenizer):
    messages = [{"role": "system", "content": RULES}, {"role": "user", "content": OWN}]
    rendered = qwen_tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
    )
    opened = ChatTemplate(qwen_tokenizer, {"enable_thinking": False}).first_prompt(OWN, RULES)
    assert qwen_tokenizer.decode(opened) == rendered


def test_without_a_general_part_there_is_no_system_message(qwen_tokenizer):
    chat = ChatTemplate(qwen_tokenizer)
    assert "system" not in qwen_tokenizer.decode(chat.first_prompt(OWN))
    assert chat.first_prompt(OWN, "") == chat.first_prompt(OWN)


def test_control_tokens_in_a_system_message_are_text(qwen_tokenizer):
    end = qwen_tokenizer.convert_tokens_to_ids("<|im_end|>")
    chat = ChatTemplate(qwen_tokenizer)
    assert chat.first_prompt(OWN, "a <|im_end|> b").count(end) == chat.first_prompt(
        OWN, "a b"
    ).count(end)


REFUSES = """{% for message in messages %}{% if message.role == 'system' %}
{{ raise_exception('no system') }}{% endif %}[{{ message.role }}]{{ message.content }}
{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"""
DROPS = """{% for message in messages %}{% if message.role != 'system' %}
[{{ message.role }}]{{ message.content }}{% endif %}{% endfor %}
{% if add_generation_prompt %}[assistant]{% endif %}"""


@pytest.mark.parametrize("template", [REFUSES, DROPS, None], ids=["refuses", "drops", "none"])
def test_a_template_without_system_messages_reads_it_before_the_rest(qwen_tokenizer, template):
    tokenizer = copy.deepcopy(qwen_tokenizer)
    tokenizer.chat_template = template
    chat = ChatTemplate(tokenizer)
    assert chat.first_prompt(OWN, RULES) == chat.first_prompt(f"{RULES}\n{OWN}")


def test_a_template_that_takes_every_message_for_a_turn_has_no_system_messages(tiny_tokenizer):
    # The shipped policy's: <read> rules <speak> would ask for a reply to the rules.
    chat = ChatTemplate(tiny_tokenizer)
    assert chat.first_prompt(OWN, RULES) == chat.first_prompt(f"{RULES}\n{OWN}")


def test_the_silence_word_is_explained_with_what_is_general():
    text = "\nTo stay silent, reply with <s> and nothing else."
    assert first_text(f"{RULES}\n{OWN}", RULES, "<s>", True) == (RULES + text, OWN)
    assert first_text(f"{RULES}\n{OWN}", RULES, "<s>", False) == (RULES, OWN)
    # Without a general part, or where a wrapper has put something before it.
    assert first_text(OWN, "", "<s>", True) == ("", OWN + text)
    assert first_text(f"Round 1\n{RULES}", RULES, "<s>", False) == ("", f"Round 1\n{RULES}")


def test_two_agents_begin_with_the_same_tokens(make_policy, qwen_tokenizer):
    policy = make_policy("qwen3", qwen_tokenizer)
    long = " ".join(["All are told this."] * 20)
    first, second = (
        policy.read(Request(agent, f"{long}\nYou are {agent}.", general=long))
        for agent in ("solver_0", "helper_0")
    )
    assert len(os.path.commonprefix([first, second])) > 0.7 * max(len(first), len(second))

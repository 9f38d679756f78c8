"""A chat template of a stranger comes to an end, whatever it does."""

from __future__ import annotations

import copy
import sys
import time

import pytest
from jinja2 import TemplateError

from laconic.envs.errors import SettingError
from laconic.learners.agents import template as templates
from laconic.learners.agents.template import MAX_SECONDS, ChatTemplate, render

LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}x"
ENDLESS = {
    "10^15 rounds": LOOP + "{% endfor %}" * 3,
    "10^15 rounds without a word": LOOP.removesuffix("x") + "{% endfor %}" * 3,
    "a range of 10^15": "{% for a in range(10**15) %}x{% endfor %}",
    "a macro that calls itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "filters in a loop": "{% for a in range(99999) %}{{ range(9999) | map('string') | join }}"
    "{% endfor %}",
    "more characters than a conversation": "{{ 'x' * 10**7 }}",
}


@pytest.fixture
def tokenizer(policy_folder):
    """Return a tokenizer whose template may be replaced."""
    from transformers import AutoTokenizer

    return copy.deepcopy(AutoTokenizer.from_pretrained(policy_folder))


@pytest.fixture
def seconds(monkeypatch):
    """Return a limit that is soon reached."""
    assert MAX_SECONDS == 2.0
    monkeypatch.setattr(templates, "MAX_SECONDS", 0.25)
    return 0.25


@pytest.mark.parametrize("template", ENDLESS.values(), ids=ENDLESS)
def test_a_template_without_end_is_refused_in_one_line(tokenizer, seconds, template):
    tokenizer.chat_template = template
    began = time.thread_time()
    with pytest.raises(TemplateError) as refused:
        render(tokenizer, [{"role": "user", "content": "Hello"}])
    assert "\n" not in str(refused.value)
    # One filter may run on for a while between two lines.
    assert time.thread_time() - began < 3 * seconds + 1
    assert sys.gettrace() is None or "bounded" not in repr(sys.gettrace())


def test_a_usual_template_is_rendered_as_transformers_does(tokenizer):
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes"}]
    expected = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert "Hello" in expected
    assert render(tokenizer, messages, add_generation_prompt=True) == expected


def test_a_model_whose_template_does_not_end_is_refused(tokenizer, seconds):
    tokenizer.chat_template = ENDLESS["10^15 rounds"]
    with pytest.raises(SettingError, match="chat template of this tokenizer.*more than 0.25 s"):
        ChatTemplate(tokenizer)

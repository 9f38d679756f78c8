"""A chat template of a stranger comes to an end, whatever it does."""

from __future__ import annotations

import copy
import os
import signal
import threading
import time

import pytest
from jinja2 import TemplateError

from laconic.envs.errors import SettingError
from laconic.learners.agents import render as rendering
from laconic.learners.agents.render import MAX_SECONDS, render
from laconic.learners.agents.render_worker import MAX_CHARACTERS
from laconic.learners.agents.template import ChatTemplate
from laconic.learners.agents.thoughts import find_markers

LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}x"
ENDLESS = {
    "10^15 rounds": LOOP + "{% endfor %}" * 3,
    "10^15 rounds without a word": LOOP.removesuffix("x") + "{% endfor %}" * 3,
    "a range of 10^15": "{% for a in range(10**15) %}x{% endfor %}",
    "a macro that calls itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "filters in a loop": "{% for a in range(99999) %}{{ range(9999) | map('string') | join }}"
    "{% endfor %}",
    "more characters than a conversation": f"{{{{ 'x' * {MAX_CHARACTERS + 1} }}}}",
    # One operation, in which no line of Python is run and no signal is handled.
    "a power": "{% set x = 10**(10**8) %}",
    "a power while it is compiled": "{{ 10**(10**8) % 7 }}",
    "a sort": "{{ ('ab' * 40000000) | sort }}",
    "a text larger than the memory": "{{ 'x' * 10**10 }}",
    "a list larger than the memory": "{{ ([0] * 10**9) | length }}",
    "a number with 10^9 digits": "{{ '%0999999999d' % 5 }}",
    "random words": "{{ lipsum(n=10**7) }}",
    "brackets": "{{" + "(" * 9999 + "1" + ")" * 9999 + "}}",
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
    monkeypatch.setattr(rendering, "MAX_SECONDS", 0.25)
    return 0.25


@pytest.mark.parametrize("template", ENDLESS.values(), ids=ENDLESS)
def test_a_template_without_end_is_refused_in_one_line(tokenizer, seconds, template):
    tokenizer.chat_template = template
    began = time.thread_time()
    with pytest.raises(TemplateError) as refused:
        render(tokenizer, [{"role": "user", "content": "Hello"}])
    assert "\n" not in str(refused.value)
    # This process only waits.
    assert time.thread_time() - began < 1


def test_after_one_that_does_not_end_others_are_rendered(tokenizer, seconds):
    usual = tokenizer.chat_template + "{# of a stranger #}"
    tokenizer.chat_template = ENDLESS["a power"]
    with pytest.raises(TemplateError, match="more than 0.25 s"):
        render(tokenizer, [{"role": "user", "content": "Hello"}])
    tokenizer.chat_template = usual
    assert "Hello again" in render(tokenizer, [{"role": "user", "content": "Hello again"}])


def test_what_is_wrong_is_said_in_one_line(tokenizer):
    for template, reason in (
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ messages + 1 }}", "concatenate"),
        ("{% for", "unexpected"),
        ("{{ raise_exception('roles must\nalternate') }}", "roles must alternate"),
        ("{{ messages.__class__.__mro__ }}", "unsafe"),
    ):
        tokenizer.chat_template = template
        with pytest.raises(TemplateError, match=reason) as refused:
            render(tokenizer, [{"role": "user", "content": "Hello"}])
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("more", ["", "{# of a stranger #}"])
def test_a_usual_template_is_rendered_as_transformers_does(tokenizer, more):
    tokenizer.chat_template += more
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes"}]
    expected = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert "Hello" in expected
    assert render(tokenizer, messages, add_generation_prompt=True) == expected


def test_everything_that_the_library_offers_to_templates_is_there(tokenizer):
    tokenizer.chat_template = (
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}"
        "{% if ns.n == 2 %}{% break %}{% endif %}{{ m | tojson }}{% endfor %}"
        "{% generation %}{{ dict(a=1) }}{% endgeneration %}{{ pad_token }}{{ extra }}"
    )
    messages = [{"role": "user", "content": "é<"}, {"role": "user", "content": "b"}]
    expected = tokenizer.apply_chat_template(messages, tokenize=False, extra=[1, "x"])
    assert expected.startswith('{"role": "user", "content": "é<"}')
    assert render(tokenizer, messages, extra=[1, "x"]) == expected


def test_a_model_whose_template_does_not_end_is_refused(tokenizer, seconds):
    tokenizer.chat_template = ENDLESS["a power"]
    with pytest.raises(SettingError, match="chat template of this tokenizer.*more than 0.25 s"):
        ChatTemplate(tokenizer)


WORK = "{% for a in range(2000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}"


def test_a_template_that_is_slow_with_thoughts_alone_is_refused_at_the_first(tokenizer, seconds):
    usual = tokenizer.chat_template
    slow = (
        "{% if messages[-1].reasoning %}" + ENDLESS["10^15 rounds without a word"] + "{% endif %}"
    )
    tokenizer.chat_template = slow + usual
    began = time.monotonic()
    with pytest.raises(SettingError, match=r"with a thought: it takes more than 0.25 s") as error:
        ChatTemplate(tokenizer)
    assert "\n" not in str(error.value) and time.monotonic() - began < 20


def test_all_conversations_of_a_tokenizer_have_one_budget(tokenizer, monkeypatch):
    count = []
    once = rendering._rendered.__wrapped__
    monkeypatch.setattr(rendering, "_rendered", lambda text: count.append(text) or once(text))
    monkeypatch.setattr(rendering, "MAX_TOTAL_SECONDS", 0.02)
    # Each takes some 0.1 s of the 2 s that a conversation may take.
    tokenizer.chat_template = WORK + tokenizer.chat_template
    with pytest.raises(SettingError, match=r"it takes more than 0.02 s for a few texts"):
        find_markers(tokenizer, {})
    assert len(count) == 1


def test_a_budget_ends_with_the_last_of_its_time():
    budget = rendering.Budget()
    for _ in range(3):
        budget.spend(3.0)
    with pytest.raises(TemplateError, match="more than 10 s"):
        budget.spend(1.0)


@pytest.fixture
def interruptible():
    """Handle an interrupt as a program does; tests before may have left another handler."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_wait_and_the_process(tokenizer):
    tokenizer.chat_template += "{# of a stranger #}"
    render(tokenizer, [{"role": "user", "content": "Is it there?"}])
    [pid] = rendering._POOL.pids
    tokenizer.chat_template = ENDLESS["a power"]
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        render(tokenizer, [{"role": "user", "content": "Wait"}])
    assert time.monotonic() - began < MAX_SECONDS
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_template_of_the_tiny_model_needs_no_process(tokenizer):
    rendering._POOL.close()
    assert render(tokenizer, [{"role": "user", "content": "Hello"}]) == "<read>Hello<speak>"
    assert not rendering._POOL.pids

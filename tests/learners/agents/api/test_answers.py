from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from laconic.learners.agents.api.answers import FailedError, FullError, read, retry_after
from laconic.learners.agents.base import Usage


def completion(**choice):
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("2", 2.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        # Half a minute after the moment below, and a time that is over.
        ("Sat, 21 Nov 2026 16:00:30 GMT", 30.0),
        ("Sat, 21 Nov 2026 15:00:00 GMT", 0.0),
    ],
)
def test_a_retry_after_is_a_number_or_a_date_or_nothing(value, seconds):
    assert retry_after(value, datetime(2026, 11, 21, 16, 0, 0, tzinfo=UTC)) == seconds


def test_a_whole_answer_is_read():
    answer = read(200, {}, completion(message={"content": " hi "}, finish_reason="stop"))
    assert (answer.text, answer.stopped, answer.full) == (" hi ", False, False)
    assert answer.usage == Usage(prompt_tokens=3, completion_tokens=2)


@pytest.mark.parametrize("message", [{"content": None}, {"reasoning_content": "hm"}, {}])
def test_a_model_that_only_thought_said_nothing(message):
    answer = read(200, {}, completion(message=message, finish_reason="length"))
    assert (answer.text, answer.stopped) == ("", True)
    with pytest.raises(FailedError, match="no text"):
        read(200, {}, completion(message=message))


@pytest.mark.parametrize(
    "usage", [None, 5, {}, {"prompt_tokens": 3}, {"prompt_tokens": -1, "completion_tokens": 2}]
)
def test_an_answer_that_counts_no_tokens_is_an_answer(usage):
    body = json.dumps({"choices": [{"message": {"content": "hi"}}], "usage": usage}).encode()
    assert read(200, {}, body).usage == Usage(uncounted=1)


@pytest.mark.parametrize(
    "body",
    [
        "This model's maximum context length is 2048 tokens. However, you requested 3000",
        "The input (3000 tokens) is longer than the model's context length (2048 tokens).",
        '{"error": {"code": "context_length_exceeded"}}',
        "the request exceeds the available context size",
    ],
)
def test_a_conversation_that_is_too_long_is_told_from_other_refusals(body):
    with pytest.raises(FullError):
        read(400, {}, body.encode())
    with pytest.raises(FailedError) as caught:
        read(401, {}, body.encode())
    assert not isinstance(caught.value, FullError)


def test_a_long_body_is_shown_in_part():
    with pytest.raises(FailedError) as caught:
        read(500, {}, b"x" * 10_000)
    assert len(str(caught.value)) < 400

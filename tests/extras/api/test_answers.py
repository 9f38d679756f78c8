"""Bodies of servers are parsed, or refused with the reason."""

from __future__ import annotations

import json

import pytest

from laconic.extras.api.answers import (
    UnusableAnswerError,
    is_lasting,
    is_too_long,
    read,
    show,
)
from laconic.learners.interfaces import Usage


def completion(**choice):
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def test_a_whole_answer_is_read():
    answer = read(completion(message={"content": " hi "}, finish_reason="stop"))
    assert (answer.text, answer.stopped, answer.full) == (" hi ", False, False)
    assert answer.usage == Usage(prompt_tokens=3, completion_tokens=2)


@pytest.mark.parametrize("message", [{"content": None}, {"reasoning_content": "hm"}, {}])
def test_a_model_that_only_thought_has_an_empty_text(message):
    answer = read(completion(message=message, finish_reason="length"))
    assert (answer.text, answer.stopped) == ("", True)
    with pytest.raises(UnusableAnswerError, match="no text"):
        read(completion(message=message))


@pytest.mark.parametrize(
    "usage", [None, 5, {}, {"prompt_tokens": 3}, {"prompt_tokens": -1, "completion_tokens": 2}]
)
def test_an_answer_without_token_counts_is_usable(usage):
    body = json.dumps({"choices": [{"message": {"content": "hi"}}], "usage": usage}).encode()
    assert read(body).usage == Usage(uncounted=1)


@pytest.mark.parametrize(
    "body",
    [
        "This model's maximum context length is 2048 tokens. However, you requested 3000",
        "The input (3000 tokens) is longer than the model's context length (2048 tokens).",
        '{"error": {"code": "context_length_exceeded"}}',
        "the request exceeds the available context size",
        "prompt is too long: 5000 tokens > 4096 maximum",
        "Input is too long for requested model.",
        "Input tokens exceed the configured limit of 4096 tokens",
        "The input token count (5000) exceeds the maximum number of tokens allowed (4096).",
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
        "too many tokens: total number of tokens in the prompt cannot exceed 4081",
        "Please reduce the length of the messages or completion.",
        "Invalid 'messages[0].content': string too long.",
    ],
)
def test_a_conversation_that_is_too_long_is_told_from_other_refusals(body):
    assert is_too_long(400, body.encode())
    assert not is_too_long(401, body.encode())


@pytest.mark.parametrize(
    "body",
    [
        "max_tokens is too large: 5000. This model supports at most 4096 completion tokens",
        "Unsupported parameter: max_tokens; use max_completion_tokens",
        "temperature must be less than 2",
        "too many tokens per minute",
        "the messages must alternate between user and assistant",
        "The model `long-prompt` does not exist",
        "Invalid input: role is required. Your quota exceeds nothing",
    ],
)
def test_other_refusals_are_not_taken_for_a_conversation_that_is_too_long(body):
    assert not is_too_long(400, body.encode())


@pytest.mark.parametrize(
    ("content", "text", "thought"),
    [
        ([{"type": "text", "text": "#### 12"}], "#### 12", ""),
        ([{"type": "output_text", "text": "#### 12"}], "#### 12", ""),
        (["#### ", {"type": "text", "text": "12"}], "#### 12", ""),
        (
            [{"type": "thinking", "thinking": "3 x 4"}, {"type": "text", "text": "#### 12"}],
            "#### 12",
            "3 x 4",
        ),
        (
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "3 x 4"}]},
                {"type": "text", "text": "#### 12"},
            ],
            "#### 12",
            "3 x 4",
        ),
        ([{"type": "reasoning", "text": "a"}, {"type": "reasoning", "text": "b"}], "", "a\nb"),
        ([{"type": "image_url", "image_url": {}}, {"type": "text", "text": "12"}], "12", ""),
        ([], "", ""),
    ],
)
def test_content_in_parts_is_read(content, text, thought):
    answer = read(completion(message={"content": content}, finish_reason="stop"))
    assert (answer.text, answer.thought, answer.withheld) == (text, thought, "")


@pytest.mark.parametrize("content", [[{"type": "image_url"}], [5], [None], {"type": "text"}])
def test_content_without_any_readable_part_is_no_answer(content):
    with pytest.raises(UnusableAnswerError, match="no text"):
        read(completion(message={"content": content}, finish_reason="stop"))


@pytest.mark.parametrize(
    ("message", "reason", "withheld", "stopped"),
    [
        ({"content": None}, "content_filter", "content_filter", False),
        ({"content": ""}, "content_filter", "content_filter", False),
        ({"content": None, "tool_calls": [{}]}, "tool_calls", "tool_calls", False),
        ({"content": None, "refusal": "I cannot"}, "stop", "refusal", False),
        ({"content": None, "refusal": "I cannot"}, None, "refusal", False),
        ({"content": " \n"}, "function_call", "function_call", False),
        # With a text it is a message that a filter cut.
        ({"content": "Anna has"}, "content_filter", "", True),
        ({"content": "12", "tool_calls": [{}]}, "tool_calls", "", False),
        # The model itself chose silence.
        ({"content": ""}, "stop", "", False),
        ({"content": ""}, "STOP", "", False),
        ({"content": None, "refusal": None, "tool_calls": []}, "stop", "", False),
        ({"content": ""}, "end_turn", "", False),
        ({"content": ""}, "eos_token", "", False),
        ({"content": [{"type": "refusal", "refusal": "no"}]}, "stop", "refusal", False),
        (
            {"content": [{"type": "refusal"}, {"type": "text", "text": ""}]},
            "stop",
            "refusal",
            False,
        ),
        ({"content": ""}, "MAX_TOKENS", "max_tokens", True),
        # Only the model ends with `stop`, and only where nothing stands in place of a text.
        ({"content": None}, "length", "length", True),
        ({"content": ""}, ["stop"], "no finish reason", False),
        ({"content": ""}, None, "no finish reason", False),
        ({"content": ""}, "error", "error", False),
        ({"content": None}, "abort", "abort", False),
        ({"content": ""}, "SAFETY", "safety", False),
        ({"content": []}, "recitation", "recitation", False),
        ({"content": " "}, "insufficient_system_resource", "insufficient_system_resource", False),
        ({"content": None}, "new\x1bword", "new?word", False),
        ({"content": None, "tool_calls": [{}]}, "stop", "tool_calls", False),
        ({"content": "", "reasoning_content": "hm"}, "network_error", "network_error", False),
        # A thought that was cut is no reply.
        ({"content": "<think>3 x"}, "length", "length", True),
    ],
)
def test_an_empty_text_that_is_not_the_models_choice_counts_as_withheld(
    message, reason, withheld, stopped
):
    answer = read(completion(message=message, finish_reason=reason))
    assert (answer.withheld, answer.stopped) == (withheld, stopped)
    assert answer.usage.withheld == bool(withheld)


@pytest.mark.parametrize(
    ("reason", "text", "withheld", "stopped"),
    [
        ("stop", "Anna has 12", "", False),
        ("eos", "Anna has 12", "", False),
        (None, "Anna has 12", "", False),
        ("length", "Anna has 12", "", True),
        ("max_tokens", "Anna has 12", "", True),
        ("MAX_TOKENS", "Anna has 12", "", True),
        ("error", "", "error", False),
        ("abort", "", "abort", False),
        ("RECITATION", "", "recitation", False),
        ("a_word_of_tomorrow", "", "a_word_of_tomorrow", False),
    ],
)
def test_a_text_at_which_the_server_broke_off_is_no_reply(reason, text, withheld, stopped):
    answer = read(completion(message={"content": "Anna has 12"}, finish_reason=reason))
    assert (answer.text, answer.withheld, answer.stopped) == (text, withheld, stopped)
    assert answer.usage.withheld == bool(withheld)


@pytest.mark.parametrize("text", ["", "Anna has"])
@pytest.mark.parametrize("place", ["completion", "choice"])
def test_nothing_beside_an_error_is_a_reply(place, text):
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    body = {"choices": [choice]}
    {"completion": body, "choice": choice}[place]["error"] = {"code": 502, "message": "no"}
    answer = read(json.dumps(body).encode())
    assert (answer.text, answer.withheld) == ("", "error")


def test_a_thought_is_in_the_field_that_holds_a_text():
    message = {"content": "12", "reasoning_content": "", "reasoning": "3 x 4"}
    assert read(completion(message=message, finish_reason="stop")).thought == "3 x 4"


@pytest.mark.parametrize(
    ("body", "lasting"),
    [
        ('{"error": {"message": "no", "code": "insufficient_quota"}}', True),
        ('{"error": {"type": "exceeded_current_quota_error"}}', True),
        ('{"error": {"code": "billing_hard_limit_reached"}}', True),
        ('{"error": {"message": "Insufficient Balance"}}', True),
        ('[{"error": "insufficient_user_quota"}]', True),
        ('{"error": {"code": "account_deactivated"}}', True),
        ('{"error": {"code": "model_not_found"}}', True),
        ('{"error": {"code": "rate_limit_exceeded", "type": "tokens"}}', False),
        # A limit per minute, in the words of one server.
        ('{"error": {"message": "You exceeded your quota, check plan and billing"}}', False),
        ('{"error": {"code": "insufficient_system_resource"}}', False),
        ('{"error": {"message": "billing_rate per minute"}}', False),
        ('{"error": {"code": "organization_rate_limited"}}', False),
        ('{"error": {"type": "billing"}}', True),
        ('{"error": {"message": "Your credit balance is too low"}}', True),
        ('{"error": "out of credits"}', True),
        ('{"error": "This request requires more credits, or fewer max_tokens"}', True),
        ('{"code": "Arrearage", "message": "Access denied"}', True),
    ],
)
def test_errors_that_last_are_told_from_those_that_pass(body, lasting):
    assert is_lasting(429, body.encode()) is lasting


@pytest.mark.parametrize(("status", "lasting"), [(402, True), (403, True), (429, False)])
def test_some_statuses_last_whatever_their_words(status, lasting):
    assert is_lasting(status, b"no") is lasting


def test_a_long_body_is_shown_in_part():
    assert len(show(b"x" * 10_000, "")) < 400


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"1" * 5000])
def test_a_body_that_cannot_be_read_is_a_plain_failure(body):
    with pytest.raises(UnusableAnswerError, match="no JSON|no choices"):
        read(body)


def test_control_characters_are_cleaned_and_white_space_stays():
    # The first clears a terminal, the second stops it; C1 characters begin sequences too.
    text = read(completion(message={"content": "a\x1b[2J\x00b\x9b1m\x7f\n\tc\r\u2028é"})).text
    assert text == "a?[2J?b?1m?\n\tc\r\u2028é"
    assert show(b"\x1b[2J", "").isprintable()


def test_a_key_is_taken_out_before_a_body_is_cut():
    # The key begins within the 300 characters that are shown, and ends behind them.
    body = b"x" * 296 + b"secret-123 and more"
    with pytest.raises(UnusableAnswerError) as caught:
        read(body, "secret-123")
    for output in (show(body, "secret-123"), str(caught.value)):
        assert "secr" not in output and "***" in output


@pytest.mark.parametrize("count", [True, 2.0, "3", 10**400])
def test_counts_of_tokens_are_whole_numbers(count):
    usage = {"prompt_tokens": count, "completion_tokens": 2}
    body = json.dumps({"choices": [{"message": {"content": "hi"}}], "usage": usage}).encode()
    assert read(body).usage == Usage(uncounted=1)

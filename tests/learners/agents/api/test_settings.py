"""Settings of a server and of what it is asked: ranges, keys, waits, prices."""

from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.agents.api.settings import ApiSamplingSettings, Prices, RequestLimits, Server
from laconic.learners.agents.base import Usage


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: RequestLimits(concurrency=0),
            "limits.concurrency must be a whole number of at least 1",
        ),
        (
            lambda: RequestLimits(timeout_seconds="1"),
            "limits.timeout_seconds must be a number above 0",
        ),
        (
            lambda: RequestLimits(requests_per_minute=0),
            "limits.requests_per_minute must be a number",
        ),
        (lambda: Prices(prompt=-1), "prices.prompt must be at least 0"),
        (lambda: ApiSamplingSettings(temperature=0), "speech.temperature must be a number above 0"),
        (lambda: ApiSamplingSettings(top_p=1.5), "top_p must be above 0 and at most 1"),
        (lambda: ApiSamplingSettings(silence=" "), "silence must be a word"),
        (lambda: ApiSamplingSettings(thinking_tokens=-1), "thinking_tokens must be a whole number"),
        (
            lambda: ApiSamplingSettings(extra_body={"stream": True}),
            "extra_body must not hold stream",
        ),
        (lambda: Server("localhost:8000", "m"), "base_url must be an address"),
        (lambda: Server("http://a:secret@host/v1", "m"), "neither name and password"),
        (lambda: Server("http://host/v1?key=secret", "m"), "neither name and password"),
        (lambda: Server("http://host/v1", ""), "model must name a model"),
    ],
)
def test_settings_out_of_range_are_refused(make, said):
    with pytest.raises(SettingError, match=said) as caught:
        make()
    assert "secret" not in str(caught.value)


def test_an_unknown_field_for_the_limit_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'max_tokens'"):
        ApiSamplingSettings(limit_field="max_token")


def test_waits_double_up_to_a_bound_and_are_drawn_from_their_upper_half():
    limits = RequestLimits(first_wait_seconds=1.0, longest_wait_seconds=5.0)
    assert [limits.wait_seconds(attempt, 1.0) for attempt in (1, 2, 3, 4, 999)] == [1, 2, 4, 5, 5]
    assert limits.wait_seconds(3, 0.0) == 2.0


def test_a_key_that_is_not_there_is_said_at_once(monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(SettingError, match="api_key_env=MY_KEY.*is not set"):
        Server("http://localhost/v1", "m", "MY_KEY")
    monkeypatch.setenv("MY_KEY", "two\nlines")
    with pytest.raises(SettingError, match="holds no key") as caught:
        Server("http://localhost/v1", "m", "MY_KEY")
    assert "lines" not in str(caught.value)
    with pytest.raises(SettingError, match="never the key") as caught:
        Server("http://localhost/v1", "m", "sk-123")
    assert "sk-123" not in str(caught.value)


def test_the_address_of_a_request_has_one_slash():
    for base in ("http://localhost/v1", "http://localhost/v1/"):
        assert Server(base, "m").url == "http://localhost/v1/chat/completions"


def test_prices_are_of_a_million_tokens():
    # 2 for a million read, 10 for a million written: 3 * 2 + 5 * 10 millionths.
    assert Prices(2.0, 10.0).cost(Usage(3, 5)) == pytest.approx(56e-6, rel=1e-12)
    assert Prices().cost(Usage(10**9, 10**9)) == 0.0


def test_a_request_asks_for_no_more_than_the_environment_takes():
    speech = ApiSamplingSettings(max_reply_tokens=10, thinking_tokens=100, top_p=0.9)
    # 4 tokens, the one that ends the reply, and 100 of thought.
    assert speech.fields(4, 7, greedy=True) == {"max_tokens": 105, "temperature": 0.0}
    sampled = {"max_tokens": 110, "temperature": 1.0, "top_p": 0.9, "seed": 7}
    assert speech.fields(None, 7, greedy=False) == sampled

"""Settings of an endpoint: ranges, keys, prices, and the fields of a request."""

from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.extras.api.settings import (
    ApiSamplingSettings,
    Endpoint,
    Prices,
    RequestLimits,
)
from laconic.learners.interfaces import Usage


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RequestLimits(concurrency=0), "agent.limits.concurrency must be a whole number"),
        (lambda: RequestLimits(attempts=0), "agent.limits.attempts must be a whole number"),
        (lambda: RequestLimits(timeout_seconds="1"), "agent.limits.timeout_seconds must be"),
        (lambda: RequestLimits(requests_per_minute=0), "agent.limits.requests_per_minute must be"),
        (lambda: Prices(prompt=-1), "agent.prices.prompt must be .* at least 0"),
        (
            lambda: ApiSamplingSettings(temperature=0),
            "agent.sampling.temperature must be .* above 0",
        ),
        (lambda: ApiSamplingSettings(top_p=1.5), "agent.sampling.top_p must be .*at most 1"),
        (lambda: ApiSamplingSettings(silence=" "), "silence must be a word"),
        (lambda: ApiSamplingSettings(thinking_tokens=-1), "thinking_tokens must be a whole number"),
        (
            lambda: ApiSamplingSettings(extra_body={"stream": True}),
            "extra_body must not hold stream",
        ),
        (lambda: Endpoint("localhost:8000", "m"), "base_url must be an address"),
        (lambda: Endpoint("http://a:secret@host/v1", "m"), "neither name and password"),
        (lambda: Endpoint("http://host/v1?key=secret", "m"), "neither name and password"),
        (lambda: Endpoint("http://host/v1", ""), "model must name a model"),
    ],
)
def test_settings_out_of_range_are_refused(make, message):
    with pytest.raises(SettingError, match=message) as caught:
        make()
    assert "secret" not in str(caught.value)


def test_an_unknown_limit_field_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'max_tokens'"):
        ApiSamplingSettings(limit_field="max_token")


def test_a_missing_key_is_refused_at_once_without_showing_it(monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(SettingError, match="api_key_env=MY_KEY.*is not set"):
        Endpoint("http://localhost/v1", "m", "MY_KEY")
    monkeypatch.setenv("MY_KEY", "two\nlines")
    with pytest.raises(SettingError, match="holds no key") as caught:
        Endpoint("http://localhost/v1", "m", "MY_KEY")
    assert "lines" not in str(caught.value)
    with pytest.raises(SettingError, match="never the key") as caught:
        Endpoint("http://localhost/v1", "m", "sk-123")
    assert "sk-123" not in str(caught.value)


def test_the_address_of_completions_has_one_slash():
    for base in ("http://localhost/v1", "http://localhost/v1/"):
        assert Endpoint(base, "m").url == "http://localhost/v1/chat/completions"


def test_prices_are_per_million_tokens():
    # 2 per million read, 10 per million written: (3 * 2 + 5 * 10) / 1e6.
    assert Prices(2.0, 10.0).cost(Usage(3, 5)) == pytest.approx(56e-6, rel=1e-12)
    assert Prices().cost(Usage(10**9, 10**9)) == 0.0


def test_a_request_asks_for_no_more_than_the_environment_accepts():
    sampling = ApiSamplingSettings(max_reply_tokens=10, thinking_tokens=100, top_p=0.9)
    # 4 tokens, the one that ends the reply, and 100 of thought.
    assert sampling.fields(4, 7, greedy=True) == {"max_tokens": 105, "temperature": 0.0}
    sampled = {"max_tokens": 110, "temperature": 1.0, "top_p": 0.9, "seed": 7}
    assert sampling.fields(None, 7, greedy=False) == sampled

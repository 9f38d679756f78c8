"""Faults of a server: repeated requests, errors that end the run, and kept answers."""

from __future__ import annotations

import json
import logging
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest

from laconic.extras.api import Endpoint, RequestLimits
from laconic.extras.api.client import client_of
from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Usage

USAGE = '"usage": {"prompt_tokens": 7, "completion_tokens": 5}'


def bodies(count):
    return [{"messages": [{"role": "user", "content": str(place)}]} for place in range(count)]


def ask(client):
    """Return the answer to one request."""
    ((_, answer),) = client.stream(bodies(1))
    return answer


@pytest.fixture
def client(fault_server):
    """Return a function that returns a client of the fault server with some limits."""

    def make(key=None, **limits):
        limits = RequestLimits(**{"attempts": 4, **limits})
        return client_of(Endpoint(fault_server.base_url, "m", key, limits))

    return make


def echo(fault_server):
    fault_server.say = lambda body: f"heard {body['messages'][0]['content']}"


PASSING = {
    "a server error": "500",
    "a bad gateway": "502",
    "a service that rests": "503 0.05",
    "a rate limit without a time": "429",
    "a rate limit with a time": "429 0.05",
    "a timeout that the server noticed": "408",
    "a slow answer": "slow 0.6",
    "a connection dropped before the answer": "hangup",
    "a connection dropped within the body": "half",
    "a body that is no JSON": "send {not json",
    "an empty body": "send ",
    "a body that is no object": "send [1, 2]",
    "a body nested too deeply": "send " + "[" * 100_000,
    "a body without choices": f"send {{{USAGE}}}",
    "an empty list of choices": f'send {{"choices": [], {USAGE}}}',
    "choices that are no list": f'send {{"choices": 3, {USAGE}}}',
    "a choice without a message": f'send {{"choices": [{{}}], {USAGE}}}',
    "a message without text": f'send {{"choices": [{{"message": {{}}}}], {USAGE}}}',
    "a text that is no text": f'send {{"choices": [{{"message": {{"content": 5}}}}], {USAGE}}}',
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_after_a_passing_fault_only_the_failed_request_is_repeated(fault_server, client, fault):
    echo(fault_server)
    fault_server.faults.extend(["", fault])
    # A busy machine may delay any answer, so only the slow one has a short limit.
    timeout = 0.3 if fault.startswith("slow") else 5.0
    answers = dict(client(timeout_seconds=timeout, concurrency=1).stream(bodies(4)))
    assert [answers[place].text for place in range(4)] == [f"heard {place}" for place in range(4)]
    assert fault_server.calls == 5
    contents = [body["messages"][0]["content"] for body in fault_server.bodies]
    # The second request met the fault; the first ones may come in any order.
    failed = contents[1]
    assert sorted(contents) == sorted(["0", "1", "2", "3", failed])
    # Tokens that the server counted for a malformed answer are counted here too.
    extra = Usage(7, 5) if USAGE in fault else Usage()
    assert answers.pop(int(failed)).usage == Usage(10, 2, calls=2) + extra
    assert all(answer.usage == Usage(10, 2, calls=1) for answer in answers.values())


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_a_fault_that_stays_ends_the_run_with_its_last_outcome(fault_server, client, fault):
    fault_server.faults.extend([fault] * 3)
    limits = {"attempts": 3, "timeout_seconds": 0.3 if fault.startswith("slow") else 5.0}
    with pytest.raises(ServerError, match="was asked 3 times") as caught:
        ask(client(**limits))
    assert fault_server.calls == 3
    kind, _, detail = fault.partition(" ")
    outcome = {
        "slow": "no whole answer within 0.3 seconds",
        "hangup": "ReadError|RemoteProtocolError",
        "half": "ReadError|RemoteProtocolError",
    }
    expected = outcome.get(kind, f"HTTP {kind}" if kind.isdigit() else detail[:8])
    message = str(caught.value)
    assert any(part in message for part in expected.split("|")), message


@pytest.mark.parametrize("status", ["400", "401", "403", "404", "422", "301"])
def test_a_refusal_is_not_repeated(fault_server, client, status):
    fault_server.faults.append(status)
    with pytest.raises(ServerError, match=f"asked once .*HTTP {status}.*a fault"):
        ask(client())
    assert fault_server.calls == 1


def test_without_a_server_the_error_names_the_address():
    endpoint = Endpoint("http://127.0.0.1:9/v1", "m", limits=RequestLimits(attempts=4))
    with pytest.raises(ServerError, match="127.0.0.1:9/v1/chat/completions was asked 4 times"):
        ask(client_of(endpoint))


def test_concurrent_requests_are_bounded(fault_server, client):
    echo(fault_server)
    fault_server.seconds = 0.05
    asking = client(concurrency=3)
    assert len(dict(asking.stream(bodies(12)))) == 12
    assert fault_server.most == 3
    # The same endpoint and limits have the same client.
    assert client(concurrency=3) is asking


def test_a_request_that_waits_for_its_next_attempt_holds_no_slot(fault_server, client, monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.4)
    fault_server.faults.append("500")
    order = [place for place, _ in client(concurrency=1).stream(bodies(3))]
    assert sorted(order) == [0, 1, 2] and order[-1] == 0


def test_a_retry_after_is_waited_for(fault_server, client):
    fault_server.faults.append("429 0.4")
    ask(client())
    first, second = fault_server.times
    assert second - first >= 0.4


def test_a_retry_after_of_an_hour_ends_the_run(fault_server, client):
    fault_server.faults.append("429 3600")
    with pytest.raises(ServerError, match="asked once .*HTTP 429.*Retry-After: '3600'"):
        ask(client())
    assert fault_server.calls == 1


def test_requests_keep_a_pace(fault_server, client):
    start_time = time.monotonic()
    assert len(dict(client(requests_per_minute=1200).stream(bodies(5)))) == 5
    # Five starts, 50 ms apart; a busy machine may bring one late, and none early.
    arrivals = [at - start_time for at in sorted(fault_server.times)]
    assert all(at >= 0.05 * place for place, at in enumerate(arrivals))


def test_answers_before_and_beside_a_failure_are_not_lost(fault_server, client):
    echo(fault_server)
    fault_server.seconds = 0.1
    # The third of four concurrent requests is refused at once; the three others are answered.
    fault_server.faults.extend(["", "", "404"])
    answers = {}
    with pytest.raises(ServerError, match="HTTP 404"):
        for place, answer in client(concurrency=4).stream(bodies(40)):
            answers[place] = answer.text
    assert len(answers) == fault_server.calls - 1 == 3
    assert all(text == f"heard {place}" for place, text in answers.items())


def test_giving_up_does_not_wait_for_the_next_attempt_of_another_request(fault_server, client):
    fault_server.faults.extend(["429 30", "404"])
    fault_server.seconds = 0.05
    start_time = time.monotonic()
    with pytest.raises(ServerError, match="HTTP 404"):
        list(client(concurrency=2).stream(bodies(20)))
    assert time.monotonic() - start_time < 5


def test_a_failure_after_giving_up_is_not_repeated(fault_server, client):
    # The second request fails while the first is still waiting for a failure of its own.
    fault_server.faults.extend(["slow 0.5", "404"])
    start_time = time.monotonic()
    with pytest.raises(ServerError, match="HTTP 404"):
        list(client(concurrency=2, timeout_seconds=0.3).stream(bodies(2)))
    assert fault_server.calls == 2 and time.monotonic() - start_time < 5


def test_a_reader_that_stops_early_stops_the_requests(fault_server, client):
    fault_server.seconds = 0.05
    stream = client(concurrency=1).stream(bodies(50))
    next(stream)
    stream.close()
    calls = fault_server.calls
    time.sleep(0.2)
    assert fault_server.calls <= calls + 1 < 10


def test_a_key_is_sent_and_shown_nowhere(fault_server, client, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-123")
    asking = client("MY_KEY")
    fault_server.faults.append('refuse {"error": "bad key secret-123"}')
    with pytest.raises(ServerError) as caught:
        ask(asking)
    assert fault_server.keys == ["Bearer secret-123"]
    assert "***" in str(caught.value)
    assert "secret-123" not in str(caught.value) + repr(asking.endpoint) + repr(vars(asking))


def test_without_a_key_none_is_sent(fault_server, client):
    ask(client())
    assert fault_server.keys == [None]
    assert fault_server.bodies[0]["model"] == "m"


def test_many_threads_share_one_bound(fault_server, client):
    fault_server.seconds = 0.02
    asking = client(concurrency=2)
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda _: ask(asking).text, range(16)))
    assert len(texts) == 16
    assert fault_server.most <= 2


def test_the_key_is_in_no_log_and_no_traceback(fault_server, client, monkeypatch, caplog):
    monkeypatch.setenv("MY_KEY", "secret-123")
    # Cut where the message ends, half of the key would be left.
    long = "x" * 295 + "secret-123"
    fault_server.faults.extend(["500", f"refuse {long}"])
    with caplog.at_level(logging.DEBUG), pytest.raises(ServerError) as caught:
        ask(client("MY_KEY"))
    assert caplog.records
    output = caplog.text + "".join(traceback.format_exception(caught.value))
    assert "HTTP 400" in output and "secr" not in output


def test_settings_that_the_library_reads_from_the_environment_are_not_sent(
    fault_server, client, monkeypatch
):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "of-another-server")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    # Other limits, so that the client is made in this environment.
    ask(client(concurrency=2))
    (headers,) = fault_server.headers
    assert "authorization" not in headers
    assert "of-another-server" not in headers.values()


def test_a_redirect_is_not_followed(fault_server, client, make_fault_server):
    other = make_fault_server()
    fault_server.faults.append(f"redirect {other.base_url}/chat/completions")
    with pytest.raises(ServerError, match="asked once .*HTTP 307"):
        ask(client())
    assert other.calls == 0


def test_an_answer_in_small_pieces_has_one_time_limit(fault_server, client):
    # A limit that starts anew with each piece (one every 0.1 s) would never end.
    fault_server.faults.append("drops 0.1")
    assert ask(client(timeout_seconds=0.4)).usage.calls == 2


def test_the_key_is_read_for_every_request(fault_server, client, monkeypatch):
    monkeypatch.setenv("MY_KEY", "first")
    asking = client("MY_KEY")
    ask(asking)
    monkeypatch.setenv("MY_KEY", "second")
    ask(asking)
    assert fault_server.keys == ["Bearer first", "Bearer second"]


def test_a_lone_surrogate_is_replaced(fault_server, client):
    completion = {"choices": [{"message": {"content": "a\ud800b"}}]}
    fault_server.faults.append("send " + json.dumps(completion))
    answer = ask(client())
    assert answer.text == "a?b"
    assert answer.usage == Usage(calls=1, uncounted=1)


def test_an_error_that_lasts_is_not_repeated(fault_server, client, monkeypatch):
    monkeypatch.setattr("laconic.extras.api.client.is_lasting", lambda status, content: True)
    fault_server.faults.extend(["429"] * 4)
    with pytest.raises(ServerError, match="was asked once"):
        ask(client())


def test_a_body_without_end_is_not_read_to_its_end(fault_server, client, monkeypatch):
    monkeypatch.setattr("laconic.learners.untrusted_files.MAX_BYTES", 1000)
    fault_server.faults.extend(["send " + "x" * 1001] * 4)
    with pytest.raises(ServerError, match="asked 4 times.*a body of more than 1,000 bytes"):
        ask(client())


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("max_tokens", "limit_field=max_completion_tokens"),
        ("max_completion_tokens", "limit_field=max_tokens"),
        ("temperature", "temperature=null"),
        ("top_p", "top_p=null"),
        ("seed", "seeded=false"),
    ],
)
def test_a_field_that_a_server_refuses_is_named_with_its_setting(
    fault_server, client, name, setting
):
    fault_server.faults.append(f"refuse Unsupported parameter: '{name}'")
    with pytest.raises(ServerError, match=f"agent.sampling.{setting}"):
        list(client().stream([{**bodies(1)[0], name: 1}]))
    # A field that was not sent is not at fault.
    fault_server.faults.append(f"refuse Unsupported parameter: '{name}'")
    with pytest.raises(ServerError) as caught:
        ask(client())
    assert setting not in str(caught.value)

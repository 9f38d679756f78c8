"""Every fault of a server, one by one: what is asked again, what ends it, and what is kept."""

from __future__ import annotations

import json
import logging
import time
import traceback

import pytest

from laconic.learners.agents.api import RequestLimits, Server
from laconic.learners.agents.api.client import client_of
from laconic.learners.agents.base import Usage
from laconic.learners.errors import ServerError

QUICK = {"attempts": 4, "first_wait_seconds": 0.02, "longest_wait_seconds": 0.04}
USAGE = '"usage": {"prompt_tokens": 7, "completion_tokens": 5}'


def bodies(count):
    return [{"messages": [{"role": "user", "content": str(place)}]} for place in range(count)]


@pytest.fixture
def client(fault_server):
    """A client of the server with other limits than the quick ones."""

    def call(**limits):
        return client_of(
            Server(fault_server.base_url, "m", limits=RequestLimits(**{**QUICK, **limits}))
        )

    return call


def said(fault_server):
    fault_server.say = lambda body: f"heard {body['messages'][0]['content']}"


PASSING = {
    "a server error": "500",
    "a bad gateway": "502",
    "a service that rests": "503 0.05",
    "a rate limit that names no time": "429",
    "a rate limit that names a time": "429 0.05",
    "a time-out that the server noticed": "408",
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
def test_a_passing_fault_is_asked_again_and_only_what_failed(fault_server, client, fault):
    said(fault_server)
    fault_server.faults.extend(["", fault])
    # On a busy machine any answer may take a while, so only the slow one is cut off early.
    timeout = 0.3 if fault.startswith("slow") else 5.0
    found = dict(client(timeout_seconds=timeout, concurrency=1).stream(bodies(4)))
    assert [found[place].text for place in range(4)] == [f"heard {place}" for place in range(4)]
    assert fault_server.calls == 5
    asked = [body["messages"][0]["content"] for body in fault_server.bodies]
    assert sorted(asked) == ["0", "1", "1", "2", "3"]
    # What the server charged for a malformed answer counts.
    extra = Usage(7, 5) if USAGE in fault else Usage()
    assert found[1].usage == Usage(10, 2, calls=2) + extra
    assert found[0].usage == Usage(10, 2, calls=1)


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_a_fault_that_stays_ends_it_with_what_came(fault_server, client, fault):
    fault_server.faults.extend([fault] * 3)
    limits = {"attempts": 3, "timeout_seconds": 0.3 if fault.startswith("slow") else 5.0}
    with pytest.raises(ServerError, match="was asked 3 times") as caught:
        client(**limits).ask(bodies(1)[0])
    assert fault_server.calls == 3
    kind, _, detail = fault.partition(" ")
    came = {
        "slow": "no whole answer within 0.3 seconds",
        "hangup": "ReadError|RemoteProtocolError",
        "half": "ReadError|RemoteProtocolError",
    }
    wanted = came.get(kind, f"HTTP {kind}" if kind.isdigit() else detail[:8])
    assert any(one in str(caught.value) for one in wanted.split("|")), str(caught.value)


@pytest.mark.parametrize("status", ["400", "401", "403", "404", "422", "301"])
def test_a_refusal_is_not_asked_again(fault_server, client, status):
    fault_server.faults.append(status)
    with pytest.raises(ServerError, match=f"asked once .*HTTP {status}.*a fault"):
        client().ask(bodies(1)[0])
    assert fault_server.calls == 1


def test_without_a_server_the_error_names_the_address(client):
    server = Server("http://127.0.0.1:9/v1", "m", limits=RequestLimits(**QUICK))
    with pytest.raises(ServerError, match="127.0.0.1:9/v1/chat/completions was asked 4 times"):
        client_of(server).ask(bodies(1)[0])


def test_never_more_than_so_many_are_under_way(fault_server, client):
    said(fault_server)
    fault_server.seconds = 0.05
    asking = client(concurrency=3)
    assert len(dict(asking.stream(bodies(12)))) == 12
    assert fault_server.most == 3
    # Another client of the same server and limits is the same.
    assert client(concurrency=3) is asking


def test_a_request_that_waits_for_its_next_attempt_keeps_nobody_out(fault_server, client):
    fault_server.faults.append("500")
    asking = client(concurrency=1, first_wait_seconds=0.4, longest_wait_seconds=0.4)
    order = [place for place, _ in asking.stream(bodies(3))]
    assert sorted(order) == [0, 1, 2] and order[-1] == 0


def test_a_retry_after_is_kept_to_by_everybody(fault_server, client):
    fault_server.faults.append("429 0.4")
    assert len(dict(client(concurrency=1).stream(bodies(5)))) == 5
    first, *others = fault_server.times
    assert min(others) - first >= 0.4
    assert fault_server.calls == 6


def test_a_retry_after_beyond_reason_ends_it(fault_server, client):
    fault_server.faults.append("429 3600")
    with pytest.raises(ServerError, match="left alone for 3600 seconds, longer than"):
        client().ask(bodies(1)[0])
    assert fault_server.calls == 1


def test_requests_keep_to_a_pace(fault_server, client):
    begun = time.monotonic()
    assert len(dict(client(requests_per_minute=1200).stream(bodies(5)))) == 5
    # Five starts, 50 ms apart; a busy machine may bring one late, and none early.
    arrived = [at - begun for at in sorted(fault_server.times)]
    assert all(at >= 0.05 * place for place, at in enumerate(arrived))


def test_what_came_before_and_beside_a_failure_is_not_lost(fault_server, client):
    said(fault_server)
    fault_server.seconds = 0.1
    # The third of four that are under way at a time is refused at once; three others are answered.
    fault_server.faults.extend(["", "", "404"])
    came = {}
    with pytest.raises(ServerError, match="HTTP 404"):
        for place, answer in client(concurrency=4).stream(bodies(40)):
            came[place] = answer.text
    assert len(came) == fault_server.calls - 1 == 3
    assert all(text == f"heard {place}" for place, text in came.items())


def test_giving_up_does_not_wait_for_a_server_that_rests(fault_server, client):
    fault_server.faults.extend(["429 30", "404"])
    fault_server.seconds = 0.05
    begun = time.monotonic()
    with pytest.raises(ServerError, match="HTTP 404"):
        list(client(concurrency=2).stream(bodies(20)))
    assert time.monotonic() - begun < 5


def test_a_reader_that_stops_early_stops_the_asking(fault_server, client):
    fault_server.seconds = 0.05
    stream = client(concurrency=1).stream(bodies(50))
    next(stream)
    stream.close()
    calls = fault_server.calls
    time.sleep(0.2)
    assert fault_server.calls <= calls + 1 < 10


def test_a_key_is_sent_and_shown_nowhere(fault_server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-123")
    server = Server(fault_server.base_url, "m", "MY_KEY")
    fault_server.faults.append('refuse {"error": "bad key secret-123"}')
    with pytest.raises(ServerError) as caught:
        client_of(server).ask(bodies(1)[0])
    assert fault_server.keys == ["Bearer secret-123"]
    assert "***" in str(caught.value)
    assert "secret-123" not in str(caught.value) + repr(server) + repr(vars(client_of(server)))


def test_without_a_key_none_is_sent(fault_server, client):
    client().ask(bodies(1)[0])
    assert fault_server.keys == [None]
    assert fault_server.bodies[0]["model"] == "m"


def test_many_threads_share_one_bound(fault_server, client):
    from concurrent.futures import ThreadPoolExecutor

    fault_server.seconds = 0.02
    asking = client(concurrency=2)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda body: asking.ask(body).text, bodies(16)))
    assert len(found) == 16
    assert fault_server.most <= 2


def test_the_key_is_in_no_log_and_no_traceback(fault_server, monkeypatch, caplog):
    monkeypatch.setenv("MY_KEY", "secret-123")
    # Where the message ends, half of the key would be left.
    long = "x" * 295 + "secret-123"
    fault_server.faults.extend(["500", f"refuse {long}"])
    with caplog.at_level(logging.DEBUG), pytest.raises(ServerError) as caught:
        client_of(Server(fault_server.base_url, "m", "MY_KEY", RequestLimits(**QUICK))).ask(
            bodies(1)[0]
        )
    assert caplog.records
    shown = caplog.text + "".join(traceback.format_exception(caught.value))
    assert "HTTP 400" in shown and "secr" not in shown


def test_what_the_library_would_find_by_itself_is_not_sent(fault_server, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "of-another-server")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    # A client of its own, which is made in this environment.
    limits = RequestLimits(**QUICK, concurrency=2)
    client_of(Server(fault_server.base_url, "m", limits=limits)).ask(bodies(1)[0])
    (headers,) = fault_server.headers
    assert "authorization" not in headers
    assert "of-another-server" not in headers.values()


def test_a_redirect_is_not_followed(fault_server, client, make_fault_server):
    other = make_fault_server()
    fault_server.faults.append(f"redirect {other.base_url}/chat/completions")
    with pytest.raises(ServerError, match="asked once .*HTTP 307"):
        client().ask(bodies(1)[0])
    assert other.calls == 0


def test_an_answer_that_comes_in_drops_has_one_time_limit(fault_server, client):
    # A piece every 0.1 s would never end a limit that starts anew with each.
    fault_server.faults.append("drops 0.1")
    found = client(timeout_seconds=0.4).ask(bodies(1)[0])
    assert found.usage.calls == 2


def test_the_key_is_read_with_every_request(fault_server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "first")
    asking = client_of(Server(fault_server.base_url, "m", "MY_KEY"))
    asking.ask(bodies(1)[0])
    monkeypatch.setenv("MY_KEY", "second")
    asking.ask(bodies(1)[0])
    assert fault_server.keys == ["Bearer first", "Bearer second"]


def test_letters_that_no_file_takes_are_answered_for(fault_server, client):
    fault_server.faults.append(
        "send " + json.dumps({"choices": [{"message": {"content": "a\ud800b"}}]})
    )
    answer = client().ask(bodies(1)[0])
    assert answer.text == "a?b"
    assert answer.usage == Usage(calls=1, uncounted=1)

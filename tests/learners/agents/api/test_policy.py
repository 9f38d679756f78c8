"""What a server is told of a conversation, and what its answers mean."""

from __future__ import annotations

import logging

import pytest

from laconic.envs.dialogue.tokens import split_words
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.agents.api import ApiSpeech, ApiTeam, Limits, Prices, Server
from laconic.learners.agents.base import Reply, Request, Streaming
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.agents.tiny import PATH
from laconic.learners.errors import ServerError
from laconic.learners.rollout.play import Start, play
from laconic.learners.training.trainer import trainers_of

QUICK = Limits(attempts=3, first_wait_seconds=0.02)


@pytest.fixture
def policy(fault_server, make_env):
    def call(**settings):
        team = ApiTeam("m", fault_server.base_url, limits=QUICK, **settings)
        return team.policies(make_env())["solver_0"]

    return call


def ask(policy, *, greedy=True, **request):
    return policy.reply([Request("solver_0", "hello", **request)], seed=3, greedy=greedy)[0]


def test_a_conversation_is_told_as_one(policy, fault_server):
    history = (Reply("one"), Reply(""))
    ask(policy(), history=history, texts=("first", "second"), max_tokens=20)
    (body,) = fault_server.bodies
    told = "\nTo stay silent, reply with <silence> and nothing else."
    assert body == {
        "model": "m",
        "messages": [
            {"role": "user", "content": f"first{told}"},
            {"role": "assistant", "content": "one"},
            {"role": "user", "content": "second"},
            {"role": "assistant", "content": "<silence>"},
            {"role": "user", "content": "hello"},
        ],
        # The token that ends a reply counts, too.
        "max_tokens": 21,
        "temperature": 0.0,
    }


def test_a_sampled_request_says_how(policy, fault_server):
    speech = ApiSpeech(
        explain_silence=False,
        temperature=0.7,
        top_p=0.9,
        max_reply_tokens=10,
        thinking_tokens=100,
        limit_field="max_completion_tokens",
        extra_body={"chat_template_kwargs": {"enable_thinking": False}},
    )
    asked = [Request("solver_0", "a"), Request("solver_0", "a")]
    policy(speech=speech).reply(asked, seed=2**31 - 1, greedy=False)
    first, second = sorted(fault_server.bodies, key=lambda body: -body["seed"])
    assert first["messages"] == [{"role": "user", "content": "a"}]
    assert (first["temperature"], first["top_p"]) == (0.7, 0.9)
    assert first["max_completion_tokens"] == 110 and "max_tokens" not in first
    assert first["chat_template_kwargs"] == {"enable_thinking": False}
    # Equal conversations are sampled apart.
    assert (first["seed"], second["seed"]) == (2**31 - 1, 0)


def test_what_a_server_refuses_can_be_left_unsaid(policy, fault_server):
    ask(policy(speech=ApiSpeech(temperature=None, seeded=False)), greedy=False)
    assert fault_server.bodies[0].keys() == {"model", "messages", "max_tokens"}


@pytest.mark.parametrize(
    ("text", "reason", "message"),
    [
        (" I know it. ", "stop", "I know it."),
        ("<silence>", "stop", ""),
        (" <silence> and more", "stop", ""),
        # Stopped within the silence word, there was no room for more.
        ("<sil", "length", ""),
        ("<sil", "stop", "<sil"),
        ("", "stop", ""),
        ("cut of", "length", "cut of"),
    ],
)
def test_silence_is_told_from_messages(policy, fault_server, text, reason, message):
    fault_server.say = lambda body: text

    def ended(completion):
        completion["choices"][0]["finish_reason"] = reason
        return completion

    fault_server.change = ended
    assert ask(policy()).message == message


def test_a_reply_knows_what_it_took(policy, fault_server):
    fault_server.faults.append('send {"usage": {"prompt_tokens": 90, "completion_tokens": 8}}')
    fault_server.say = lambda body: "two words"
    reply = ask(policy(prices=Prices(prompt=2.0, completion=10.0)))
    # The malformed answer is paid for, too: 100 and 10 tokens.
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (100, 10)
    assert reply.usage.calls == 2
    assert reply.usage.cost == pytest.approx((2 * 100 + 10 * 10) / 1e6, rel=1e-12)


def test_a_server_that_does_not_count_is_warned_of_once(policy, fault_server, caplog):
    fault_server.change = lambda completion: {"choices": completion["choices"]}
    speaking = policy()
    with caplog.at_level(logging.WARNING):
        assert [ask(speaking).usage.uncounted for _ in range(3)] == [1, 1, 1]
    assert len(caplog.records) == 1 and "does not count tokens" in caplog.text


def test_a_conversation_that_is_too_long_ends_it_or_is_silent(policy, fault_server, caplog):
    refusal = "refuse maximum context length is 8 tokens"
    fault_server.faults.extend([refusal, ""] * 2)
    asked = [Request("solver_0", "a"), Request("solver_0", "b")]
    came = []
    with pytest.raises(ServerError, match="agent.silent_when_full=true"):
        came.extend(policy().stream(asked, seed=0, greedy=True))
    assert len(came) == 1
    with caplog.at_level(logging.WARNING):
        replies = policy(silent_when_full=True).reply(asked, seed=0, greedy=True)
    assert sorted(reply.message for reply in replies) == ["", "#### 1"]
    assert "longer than 'm' reads; it is silent" in caplog.text


def test_a_team_plays_whole_episodes_and_they_know_what_they_cost(fault_server, make_env):
    team = ApiTeam("m", fault_server.base_url, limits=QUICK, prices=Prices(prompt=1.0))
    fault_server.say = lambda body: "#### 7" if "solver" in body["messages"][0]["content"] else "hm"
    environments = [make_env(rounds=1) for _ in range(2)]
    policies = team.policies(environments[0])
    starts = [Start(0, "fruit"), Start(1, "birds")]
    fruit, birds = play(environments, policies, starts, seed=0, greedy=True)
    assert (fruit.solved, birds.solved) == (True, False)
    assert fault_server.calls == len(fruit.turns) + len(birds.turns) == 8
    assert all(turn.usage.prompt_tokens == 10 for turn in fruit.turns)
    assert all(turn.reply_ids == () for turn in fruit.turns)


def test_it_has_nothing_to_train(policy):
    assert isinstance(policy(), Streaming)
    assert not isinstance(ScriptedTeam(), Streaming) and not hasattr(HFPolicy, "stream")
    with pytest.raises(SettingError, match="nobody in the team has weights to train.*ApiPolicy"):
        trainers_of({"solver_0": policy()}, lambda parameters: None, False)


def test_budgets_are_counted_in_words_or_in_the_tokens_of_a_tokenizer():
    assert ApiTeam("m").tokenize is split_words
    tokenize = ApiTeam("m", tokenizer=str(PATH)).tokenize
    assert "".join(tokenize("Anna has 12 apples.")) == "Anna has 12 apples."
    with pytest.raises(SettingError, match="agent.tokenizer='/none'"):
        _ = ApiTeam("m", tokenizer="/none").tokenize


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Limits(concurrency=0), "limits.concurrency must be a whole number of at least 1"),
        (lambda: Limits(timeout_seconds="1"), "limits.timeout_seconds must be a number above 0"),
        (lambda: Limits(requests_per_minute=0), "limits.requests_per_minute must be a number"),
        (lambda: Prices(prompt=-1), "prices.prompt must be at least 0"),
        (lambda: ApiSpeech(temperature=0), "speech.temperature must be a number above 0"),
        (lambda: ApiSpeech(top_p=1.5), "top_p must be above 0 and at most 1"),
        (lambda: ApiSpeech(silence=" "), "silence must be a word"),
        (lambda: ApiSpeech(thinking_tokens=-1), "thinking_tokens must be a whole number"),
        (lambda: ApiSpeech(extra_body={"stream": True}), "extra_body must not hold stream"),
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
        ApiSpeech(limit_field="max_token")


def test_waits_double_up_to_a_bound_and_are_drawn_from_their_upper_half():
    limits = Limits(first_wait_seconds=1.0, longest_wait_seconds=5.0)
    assert [limits.wait_seconds(attempt, 1.0) for attempt in (1, 2, 3, 4, 999)] == [1, 2, 4, 5, 5]
    assert limits.wait_seconds(3, 0.0) == 2.0

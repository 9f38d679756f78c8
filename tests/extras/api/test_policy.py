"""Conversations become chat messages, and answers become replies."""

from __future__ import annotations

import logging

import pytest

from laconic.envs.errors import SettingError
from laconic.extras.api import ApiSamplingSettings, ApiTeam, Prices, RequestLimits
from laconic.extras.api.policy import ApiPolicy
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.algorithms.group import trainers_of
from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Reply, Request, Streaming
from laconic.learners.metrics import summarize
from laconic.learners.rollout.play import Start, play

QUICK = RequestLimits(attempts=3)


@pytest.fixture
def policy(fault_server, make_env):
    def call(**settings):
        team = ApiTeam("m", fault_server.base_url, limits=QUICK, **settings)
        return team.policies(make_env())["solver_0"]

    return call


def ask(policy, *, greedy=True, **request):
    return policy.reply([Request("solver_0", "hello", **request)], seed=3, greedy=greedy)[0]


def test_a_conversation_becomes_chat_messages(policy, fault_server):
    history = (Reply("one"), Reply(""))
    ask(policy(), history=history, texts=("first", "second"), max_tokens=20)
    (body,) = fault_server.bodies
    rule = "\nTo stay silent, reply with <silence> and nothing else."
    assert body == {
        "model": "m",
        "messages": [
            {"role": "user", "content": f"first{rule}"},
            {"role": "assistant", "content": "one"},
            {"role": "user", "content": "second"},
            {"role": "assistant", "content": "<silence>"},
            {"role": "user", "content": "hello"},
        ],
        # The token that ends a reply counts, too.
        "max_tokens": 21,
        "temperature": 0.0,
    }


def test_a_sampled_request_carries_its_settings(policy, fault_server):
    sampling = ApiSamplingSettings(
        explain_silence=False,
        temperature=0.7,
        top_p=0.9,
        max_reply_tokens=10,
        thinking_tokens=100,
        limit_field="max_completion_tokens",
        extra_body={"chat_template_kwargs": {"enable_thinking": False}},
    )
    requests = [Request("solver_0", "a"), Request("solver_0", "a")]
    policy(sampling=sampling).reply(requests, seed=2**31 - 1, greedy=False)
    first, second = sorted(fault_server.bodies, key=lambda body: -body["seed"])
    assert first["messages"] == [{"role": "user", "content": "a"}]
    assert (first["temperature"], first["top_p"]) == (0.7, 0.9)
    assert first["max_completion_tokens"] == 110 and "max_tokens" not in first
    assert first["chat_template_kwargs"] == {"enable_thinking": False}
    # Equal conversations have different seeds.
    assert (first["seed"], second["seed"]) == (2**31 - 1, 0)


def test_fields_that_a_server_refuses_can_be_left_out(policy, fault_server):
    ask(policy(sampling=ApiSamplingSettings(temperature=None, seeded=False)), greedy=False)
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
def test_silence_is_distinguished_from_messages(policy, fault_server, text, reason, message):
    fault_server.say = lambda body: text

    def ended(completion):
        completion["choices"][0]["finish_reason"] = reason
        return completion

    fault_server.change = ended
    assert ask(policy()).message == message


@pytest.mark.parametrize(
    ("text", "message", "thought", "uncharged"),
    [
        ("`<silence>`", "", "", 0),
        ("solver_0: <Silence/>", "", "", 0),
        ("**<silence>** I think 3 + 4", "", "** I think 3 + 4", 7),
        ("Anna has 3. <silence> So 3 + 4", "Anna has 3.", "So 3 + 4", 4),
        ("<think>hm</think>Anna <silence> more", "Anna", "hm\nmore", 1),
        # Only a thought before the reply counts, and the word within it ends nothing.
        ("<think>a <silence> b</think>Anna", "Anna", "a <silence> b", 0),
    ],
)
def test_text_behind_the_silence_word_is_charged_as_a_thought_or_counted(
    policy, fault_server, caplog, text, message, thought, uncharged
):
    fault_server.say = lambda body: text
    reply = ask(policy(), max_thought_tokens=100)
    assert (reply.message, reply.thought, reply.usage.uncharged) == (message, thought, 0)
    # An environment without thoughts cannot charge it, so its words are counted.
    with caplog.at_level(logging.WARNING):
        reply = ask(policy())
    assert (reply.message, reply.usage.uncharged) == (message, uncharged)
    assert ("eval/uncharged" in caplog.text) == bool(uncharged)


@pytest.mark.parametrize("reason", ["content_filter", "tool_calls", "refusal"])
def test_a_withheld_reply_is_silence_that_is_counted_separately(
    policy, fault_server, make_env, caplog, reason
):
    def withheld(completion):
        filled = {"content": None, "refusal": "I cannot help" if reason == "refusal" else None}
        ended = "stop" if reason == "refusal" else reason
        completion["choices"] = [{"message": filled, "finish_reason": ended}]
        return completion

    fault_server.change = withheld
    env = make_env(team={"solver": 1, "helper": 1}, rounds=1)
    with caplog.at_level(logging.WARNING):
        [episode] = play([env], dict.fromkeys(env.possible_agents, policy()), [Start(0)], seed=0)
    assert [turn.message for turn in episode.turns] == ["", ""]
    assert [turn.usage.withheld for turn in episode.turns] == [1, 1]
    metrics = summarize([episode])
    # No agent chose silence, so the rate has no turns to average.
    assert metrics["withheld"] == 2.0 and "silence_rate" not in metrics
    assert caplog.text.count("withheld a reply") == 1 and reason in caplog.text


def test_a_reply_carries_its_usage(policy, fault_server):
    fault_server.faults.append('send {"usage": {"prompt_tokens": 90, "completion_tokens": 8}}')
    fault_server.say = lambda body: "two words"
    reply = ask(policy(prices=Prices(prompt=2.0, completion=10.0)))
    # The malformed answer is paid for too: 100 and 10 tokens.
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (100, 10)
    assert reply.usage.calls == 2
    assert reply.usage.cost == pytest.approx((2 * 100 + 10 * 10) / 1e6, rel=1e-12)


def test_a_server_that_does_not_count_is_warned_of_once(policy, fault_server, caplog):
    fault_server.change = lambda completion: {"choices": completion["choices"]}
    one_policy = policy()
    with caplog.at_level(logging.WARNING):
        assert [ask(one_policy).usage.uncounted for _ in range(3)] == [1, 1, 1]
    assert len(caplog.records) == 1 and "does not count tokens" in caplog.text


def test_a_conversation_that_is_too_long_ends_the_run_or_is_silent(policy, fault_server, caplog):
    refusal = "refuse maximum context length is 8 tokens"
    fault_server.faults.extend([refusal, ""] * 2)
    requests = [Request("solver_0", "a"), Request("solver_0", "b")]
    came = []
    with pytest.raises(ServerError, match="agent.silent_when_full=true"):
        came.extend(policy().stream(requests, seed=0, greedy=True))
    assert len(came) == 1
    with caplog.at_level(logging.WARNING):
        replies = policy(silent_when_full=True).reply(requests, seed=0, greedy=True)
    assert sorted(reply.message for reply in replies) == ["", "#### 1"]
    assert "longer than the context of 'm'; it is silent" in caplog.text


def test_a_served_policy_has_nothing_to_train(policy):
    assert isinstance(policy(), ApiPolicy) and isinstance(policy(), Streaming)
    assert not isinstance(ScriptedTeam(), Streaming) and not hasattr(HFPolicy, "stream")
    with pytest.raises(SettingError, match="no agent of the team has weights to train.*ApiPolicy"):
        trainers_of({"solver_0": policy()}, lambda parameters: None, False)


@pytest.mark.parametrize(
    ("fields", "text", "thought", "message", "truncated"),
    [
        # A server that separates thoughts, under either name.
        ({"reasoning_content": "3 + 4"}, "\n\n7", "3 + 4", "7", False),
        ({"reasoning": "3 + 4"}, "<silence>", "3 + 4", "", False),
        # A server that does not; some models do not even mark where the thought begins.
        ({}, "<think>3 + 4</think>\n7", "3 + 4", "7", False),
        ({"reasoning_content": None}, " 3 + 4</think> 7", "3 + 4", "7", False),
        ({}, "<think>3 + 4", "3 + 4", "", True),
        ({}, "<think></think>7", "", "7", False),
        # If the server separates the thought, the rest is text.
        ({"reasoning": "a"}, "7 <think>b</think>", "a", "7 <think>b</think>", False),
    ],
)
def test_thoughts_are_separated_from_messages(
    policy, fault_server, fields, text, thought, message, truncated
):
    def thinking(completion):
        completion["choices"][0]["message"] |= fields
        return completion

    fault_server.say, fault_server.change = (lambda body: text), thinking
    reply = ask(policy())
    assert (reply.thought, reply.message, reply.truncated) == (thought, message, truncated)


def test_a_thought_has_no_more_room_than_the_environment_gives_it(policy, fault_server):
    sampling = ApiSamplingSettings(max_reply_tokens=10, thinking_tokens=100)
    request = Request("solver_0", "a", max_thought_tokens=30)
    policy(sampling=sampling).reply([request], seed=0, greedy=True)
    assert fault_server.bodies[0]["max_tokens"] == 40

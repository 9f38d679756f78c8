"""What a server is told of a conversation, and what its answers mean."""

from __future__ import annotations

import logging

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.agents.api import ApiSamplingSettings, ApiTeam, Prices, RequestLimits
from laconic.learners.agents.api.policy import ApiPolicy
from laconic.learners.agents.base import Reply, Request, Streaming
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.algorithms.group import trainers_of
from laconic.learners.errors import ServerError
from laconic.learners.metrics import summarise
from laconic.learners.rollout.play import Start, play

QUICK = RequestLimits(attempts=3, first_wait_seconds=0.02)


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
    speech = ApiSamplingSettings(
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
    ask(policy(speech=ApiSamplingSettings(temperature=None, seeded=False)), greedy=False)
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


@pytest.mark.parametrize(
    ("text", "message", "thought", "uncharged"),
    [
        ("`<silence>`", "", "", 0),
        ("solver_0: <Silence/>", "", "", 0),
        ("**<silence>** I think 3 + 4", "", "** I think 3 + 4", 7),
        ("Anna has 3. <silence> So 3 + 4", "Anna has 3.", "So 3 + 4", 4),
        ("<think>hm</think>Anna <silence> more", "Anna", "hm\nmore", 1),
        # Only the thought before the reply is one; the word within it ends nothing.
        ("<think>a <silence> b</think>Anna", "Anna", "a <silence> b", 0),
    ],
)
def test_what_stands_behind_the_silence_word_is_charged_as_a_thought_or_counted(
    policy, fault_server, caplog, text, message, thought, uncharged
):
    fault_server.say = lambda body: text
    reply = ask(policy(), max_thought_tokens=100)
    assert (reply.message, reply.thought, reply.usage.uncharged) == (message, thought, 0)
    # An environment without thoughts has nothing to charge it as: it is counted, in words.
    with caplog.at_level(logging.WARNING):
        reply = ask(policy())
    assert (reply.message, reply.usage.uncharged) == (message, uncharged)
    assert ("eval/uncharged" in caplog.text) == bool(uncharged)


@pytest.mark.parametrize("reason", ["content_filter", "tool_calls", "refusal"])
def test_a_reply_that_is_withheld_is_silence_that_is_counted_apart(
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
    metrics = summarise([episode])
    # Nobody chose to be silent, so there is no turn to take a rate of.
    assert metrics["withheld"] == 2.0 and "silence_rate" not in metrics
    assert caplog.text.count("withheld a reply") == 1 and reason in caplog.text


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


def test_it_has_nothing_to_train(policy):
    assert isinstance(policy(), ApiPolicy) and isinstance(policy(), Streaming)
    assert not isinstance(ScriptedTeam(), Streaming) and not hasattr(HFPolicy, "stream")
    with pytest.raises(SettingError, match="no agent of the team has weights to train.*ApiPolicy"):
        trainers_of({"solver_0": policy()}, lambda parameters: None, False)


@pytest.mark.parametrize(
    ("told", "text", "thought", "message", "truncated"),
    [
        # A server that tells thoughts apart, under either name.
        ({"reasoning_content": "3 + 4"}, "\n\n7", "3 + 4", "7", False),
        ({"reasoning": "3 + 4"}, "<silence>", "3 + 4", "", False),
        # One that does not; some do not even show where the thought begins.
        ({}, "<think>3 + 4</think>\n7", "3 + 4", "7", False),
        ({"reasoning_content": None}, " 3 + 4</think> 7", "3 + 4", "7", False),
        ({}, "<think>3 + 4", "3 + 4", "", True),
        ({}, "<think></think>7", "", "7", False),
        # Told apart, what follows is text.
        ({"reasoning": "a"}, "7 <think>b</think>", "a", "7 <think>b</think>", False),
    ],
)
def test_thoughts_are_told_from_messages(
    policy, fault_server, told, text, thought, message, truncated
):
    def thinking(completion):
        completion["choices"][0]["message"] |= told
        return completion

    fault_server.say, fault_server.change = (lambda body: text), thinking
    found = ask(policy())
    assert (found.thought, found.message, found.truncated) == (thought, message, truncated)


def test_a_thought_has_no_more_room_than_the_environment_gives_it(policy, fault_server):
    speech = ApiSamplingSettings(max_reply_tokens=10, thinking_tokens=100)
    asked = Request("solver_0", "a", max_thought_tokens=30)
    policy(speech=speech).reply([asked], seed=0, greedy=True)
    assert fault_server.bodies[0]["max_tokens"] == 40

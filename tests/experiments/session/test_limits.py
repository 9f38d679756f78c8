"""Limits of a team and its environment that contradict each other are told at the start."""

from __future__ import annotations

from types import SimpleNamespace

from laconic.experiments.session.limits import contradictions, tell_start


def limited(most, message, episode=None, **members):
    sampling = SimpleNamespace(max_reply_tokens=most)
    budget = SimpleNamespace(message=message, episode=episode)
    team = SimpleNamespace(sampling=sampling, members=members)
    return contradictions(team, SimpleNamespace(budget=budget))


def test_limits_that_agree_are_not_told():
    # 48 tokens of a message, and one that ends the reply.
    assert limited(49, 48, 192) == [] and limited(49, None) == []
    assert contradictions(object(), object()) == []


def test_limits_that_contradict_each_other_are_told_with_both_keys():
    for most, message, least in ((256, 48, 49), (49, 255, 49)):
        [told] = limited(most, message)
        assert f"end after {least} tokens" in told
        assert f"agent.sampling.max_reply_tokens={most}" in told
        assert f"env.budget.message={message}" in told
    [told] = limited(49, 48, 40)
    assert "env.budget.episode=40" in told


def test_members_of_a_mixed_team_are_told_by_their_own_keys():
    helper = SimpleNamespace(sampling=SimpleNamespace(max_reply_tokens=256))
    [told] = limited(49, 48, helper=helper)
    assert "agent.members.helper.sampling.max_reply_tokens=256" in told


def test_what_contradicts_is_printed_and_nothing_else(capsys):
    sampling = SimpleNamespace(max_reply_tokens=20)
    team = SimpleNamespace(sampling=sampling)
    tell_start(team, SimpleNamespace(budget=SimpleNamespace(message=48, episode=None)))
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("limits: replies end after 20 tokens")
    tell_start(team, SimpleNamespace(budget=SimpleNamespace(message=19, episode=None)))
    assert capsys.readouterr().out == ""


def test_limits_of_thoughts_that_contradict_each_other_are_told():
    def told(most, cap):
        team = SimpleNamespace(sampling=SimpleNamespace(max_reply_tokens=49, thinking_tokens=most))
        budget = SimpleNamespace(message=48, episode=None, thought=cap)
        return contradictions(team, SimpleNamespace(budget=budget))

    assert told(64, 64) == told(64, None) == told(None, 64) == []
    [words] = told(1024, 64)
    assert "thoughts end after 64 tokens" in words
    assert "agent.sampling.thinking_tokens=1024" in words and "env.budget.thought=64" in words

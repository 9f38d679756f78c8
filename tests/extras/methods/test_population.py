"""Partners from a pool: who meets whom, what is hidden, and what is not trained."""

from __future__ import annotations

from collections import Counter

import pytest

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.extras.methods.population import PartnerPolicy, PopulationTeam
from laconic.learners.agents.hf import HFPolicy, HFTeam
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.interfaces import Reply, Request
from laconic.learners.rollout.collectors.base import Independent
from laconic.learners.rollout.collectors.counterfactual import collector_for
from laconic.learners.rollout.play import Start

POOL = ("allc", ScriptedTeam("alld"))


class Named:
    """A policy that says its name and records how often it was asked."""

    def __init__(self, name):
        self.name, self.asked = name, 0

    def reply(self, requests, *, seed, greedy):
        self.asked += 1
        return [Reply(f"{self.name} {request.text}") for request in requests]


def keys(count):
    return [f"train-0/{number}" for number in range(count)]


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_partners_are_drawn_evenly_beside_the_share_of_the_learner(share):
    learner, pool = Named("self"), [Named("a"), Named("b"), Named("c")]
    policy = PartnerPolicy(learner, pool, share)
    counts = Counter(policy.partner(key).name for key in keys(3000))
    expected = {"self": share, **dict.fromkeys("abc", (1 - share) / 3)}
    for name, fraction in expected.items():
        # Four standard deviations of a share of 3,000.
        assert abs(counts[name] / 3000 - fraction) <= 4 * (fraction * (1 - fraction) / 3000) ** 0.5


def test_one_round_asks_each_partner_once_and_keeps_the_order():
    pool = [Named("a"), Named("b")]
    policy = PartnerPolicy(Named("self"), pool, 0.0)
    requests = [Request("partner_0", key, info={"task": key}) for key in keys(20)]
    messages = [reply.message for reply in policy.reply(requests, seed=0, greedy=True)]
    assert messages == [f"{policy.partner(key).name} {key}" for key in keys(20)]
    assert [partner.asked for partner in pool] == [1, 1]


def test_a_group_meets_one_partner_and_other_groups_meet_others():
    environments = [envs.make("matrix", free=True, tasks=8, chat=0, length=2) for _ in range(16)]
    team = PopulationTeam({"player": ScriptedTeam("coin")}, pool=POOL, self_share=0.0)
    policies = team.policies(environments[0])
    collect = collector_for(Independent(), "own", "episode")
    starts = [Start(seed, key) for seed, key in enumerate(keys(4))]
    groups = collect(environments, policies, starts, 4, seed=0)
    met = []
    for group in groups:
        acts = [{turn.act for turn in e.turns if turn.agent == "partner_0"} for e in group.episodes]
        assert len(acts) == 4 and len(set(map(frozenset, acts))) == 1
        met += acts[0]
        # What the learner reads never names the partner.
        texts = " ".join(turn.read for e in group.episodes for turn in e.turns)
        assert not any(name in texts for name in ("allc", "alld"))
    assert set(met) == {"> C", "> D"}


def test_the_learner_is_its_own_partner_and_only_its_own_seat_is_trained(saved):
    env = envs.make("matrix", free=True, tasks=4, length=2)
    team = PopulationTeam({"player": HFTeam(str(saved))}, pool=POOL, self_share=1.0)
    policies = team.policies(env)
    assert list(policies) == ["player_0", "partner_0"]
    assert isinstance(policies["player_0"], HFPolicy)
    assert not isinstance(policies["partner_0"], HFPolicy)
    assert policies["partner_0"].partner("any") is policies["player_0"]
    (reply,) = policies["partner_0"].reply(
        [Request("partner_0", "Hello", info={"task": "any"})], seed=0, greedy=True
    )
    assert isinstance(reply, Reply)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"members": {"partner": ScriptedTeam()}},
            r"must not have the role of agent\.seat=partner",
        ),
        ({"pool": []}, r"agent\.pool must have a partner"),
        ({"pool": [{"script": "tft"}]}, r"agent\.pool must list names of scripts, or agents"),
        ({"self_share": 1.5}, r"agent\.self_share must be"),
        ({"members": {}}, r"agent\.members must name a role or agent"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(SettingError, match=words):
        PopulationTeam(**{"members": {"player": ScriptedTeam()}, "pool": POOL, **settings})


def test_the_environment_needs_the_seat(make_env):
    team = PopulationTeam({"solver": ScriptedTeam()}, pool=POOL)
    with pytest.raises(SettingError, match="got 'partner', and its roles are solver, helper"):
        team.policies(make_env())


def test_scripts_of_the_pool_see_the_tasks_of_another_split():
    env = envs.make("gsm8k", free=True, tasks=2)
    other = envs.make("gsm8k", free=True, tasks=2, split="evaluation")
    team = PopulationTeam(
        {"solver": ScriptedTeam()}, seat="helper", pool=["oracle"], self_share=0.0
    )
    policies = team.policies(env)
    policies["helper_0"].know(other.tasks)
    _, infos = other.reset(seed=0)
    request = Request("helper_0", "", info=infos["helper_0"])
    assert policies["helper_0"].reply([request], seed=0, greedy=True)


def test_scripts_of_a_world_play_in_every_split():
    env = envs.make("matrix", free=True, tasks=2)
    other = envs.make("matrix", free=True, tasks=2, split="evaluation")
    team = PopulationTeam({"player": ScriptedTeam("tft")}, pool=["tft"], self_share=0.0)
    policy = team.policies(env)["partner_0"]
    policy.know(other.tasks)
    for played in (env, other):
        _, infos = played.reset(seed=0)
        request = Request("partner_0", "", info=infos["partner_0"])
        assert [reply.message for reply in policy.reply([request], seed=0, greedy=True)] == [""]

"""Policies are paid for the answer that they elect, and learn from it as in GRPO."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import comb, prod
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_module
from hydra.utils import instantiate
from omegaconf import OmegaConf
from updates import equal, weights

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.envs.library.signal.benchmark import COLORS, THINGS
from laconic.extras.analysis.voter import VoterTeam
from laconic.extras.methods.collective import Collective
from laconic.extras.methods.rlccf import CollectiveLearner, Votes, grade_alone
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.episode import Group
from laconic.learners.interfaces import Policy, Reply, Request
from laconic.learners.metrics import wilson
from laconic.learners.prices.steering import AccuracyFloor
from laconic.learners.rollout.collectors.base import Extra
from laconic.learners.rollout.play import Start

VOTERS = ("solver_0", "solver_1", "solver_2")
ACCURACIES = (0.9, 0.6, 0.6)
ALONE: Mapping[str, Any] = {
    "team": {"solver": 3},
    "information": "full",
    "rounds": 1,
    "topology": "none",
    "schedule": "all",
}
SGD = partial(torch.optim.SGD, lr=0.1)


def environments(tasks: int, colors: int = 2, count: int = 16, **settings: Any) -> list[Any]:
    generator = {"colors": colors}
    settings = {**ALONE, "tasks": tasks, "generator": generator, **settings}
    return [envs.make("signal", free=True, **settings) for _ in range(count)]


def starts_of(environment: Any) -> list[Start]:
    return [Start(number, key) for number, key in enumerate(environment.tasks)]


def elected_right(policies: Mapping[str, Policy], rooms: list[Any], vote: str, plays: int) -> int:
    """Count the tasks in which the agents are paid for the right answer."""
    groups = Votes(Collective(vote))(rooms, policies, starts_of(rooms[0]), plays, seed=0)
    benchmark, tasks = rooms[0].benchmark, rooms[0].tasks
    right = 0
    for group in groups:
        scores = [grade_alone(benchmark, tasks[group.task], each) for each in group.episodes]
        paid = [
            scores[place][agent].solved
            for place, episode in enumerate(group.episodes)
            for agent, (pay,) in episode.task_rewards.items()
            if pay
        ]
        # All paid answers are the elected one.
        assert len(set(paid)) == 1
        right += paid[0]
    return right


def predicted(vote: str, plays: int) -> float:
    """Return the accuracy of the vote of independent voters, each with one wrong answer.

    A voter gives c of K right answers with probability C(K, c) p^c (1 - p)^(K - c), and weighs
    max(c, K - c) / K or 1. A tie goes to the first answer of the first voter, right in c / K.
    """
    total = 0.0
    for counts in product(range(plays + 1), repeat=len(ACCURACIES)):
        chance = prod(
            comb(plays, c) * p**c * (1 - p) ** (plays - c)
            for c, p in zip(counts, ACCURACIES, strict=True)
        )
        weigh = [max(c, plays - c) if vote == "weighted" else 1 for c in counts]
        lead = sum(w * (2 * c - plays) for w, c in zip(weigh, counts, strict=True))
        total += chance * (lead > 0 if lead else counts[0] / plays)
    return total


@pytest.mark.parametrize("vote", ["weighted", "plain"])
@pytest.mark.parametrize("plays", [1, 4])
def test_independent_voters_elect_what_the_closed_form_says(vote, plays):
    rooms = environments(400)
    teams = [VoterTeam(accuracy) for accuracy in ACCURACIES]
    policies = {
        agent: team.policies(rooms[0])[agent] for agent, team in zip(VOTERS, teams, strict=True)
    }
    low, high = wilson(elected_right(policies, rooms, vote, plays), 400)
    assert low <= predicted(vote, plays) <= high
    # One vote of .9, .6 and .6: .9 (1 - .4 * .4) + .1 * .36 = .792. Four votes with weights gain a
    # little less than without, because all wrong answers are one: .9507 and .9545.
    closed = {1: 0.792, 4: 0.9507 if vote == "weighted" else 0.9545}
    assert predicted(vote, plays) == pytest.approx(closed[plays], abs=5e-5)
    # Each alone would be outside: at most .9.
    assert plays == 1 or low > 0.9


class Misled:
    """Voters that know a task or are all misled, always in the same way; one draws by itself."""

    def __init__(self, environment: Any) -> None:
        tasks = environment.tasks.values()
        draw = random.Random(0)
        self.tasks = environment.tasks
        self.known = {task.key: draw.random() < 0.6 for task in tasks}
        self.draw = draw

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        replies = []
        for request in requests:
            task = self.tasks[request.info["task"]]
            known = self.known[task.key]
            if request.agent == "solver_0":
                known = self.draw.random() < 0.9
            other = "red" if task.answer != "red" else "blue"
            replies.append(Reply(f"#### {task.answer if known else other}"))
        return replies


def test_correlated_voters_mislead_the_weighted_vote():
    rooms = environments(100)
    voters = Misled(rooms[0])
    right = elected_right(dict.fromkeys(VOTERS, voters), rooms, "weighted", 4)
    # Two voters that agree in all plays weigh 2 * 4 * 4; the third at most 4 * 4. So the vote is
    # right exactly where they are, .6 of the tasks, and the third alone is right in .9.
    assert right == sum(voters.known.values())
    low, high = wilson(right, 100)
    assert low <= 0.6 <= high < predicted("weighted", 1) < 0.9


class Answering:
    """A policy whose tokens are sampled and whose words are an answer, right in four of five."""

    def __init__(self, policy: HFPolicy, tasks: Mapping[str, Any], seed: int) -> None:
        self.policy, self.tasks, self.draw = policy, tasks, random.Random(seed)

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        sampled = self.policy.reply(requests, seed=seed, greedy=greedy)
        answers = [
            self.tasks[request.info["task"]].answer if self.draw.random() < 0.8 else "green"
            for request in requests
        ]
        return [
            replace(reply, message=f"It is {answer}.\n#### {answer}")
            for reply, answer in zip(sampled, answers, strict=True)
        ]


@pytest.fixture
def make_policies(make_policy):
    """Makes three policies of different weights, the same ones every time."""
    return lambda: {
        agent: make_policy(max_reply_tokens=6, model={"seed": seed})
        for seed, agent in enumerate(VOTERS)
    }


def learner_of(name: str, policies: Mapping[str, Policy], **settings: Any) -> Any:
    with initialize_config_module("laconic.conf", version_base="1.3"):
        node = compose("train", overrides=[f"learner={name}", "agent=tiny"]).learner
    node = OmegaConf.create(OmegaConf.to_container(node, resolve=True))
    node.objective.beta = 0.04
    return instantiate(node, policies, SGD, _partial_=False, _convert_="all", **settings)


def graded(groups: Sequence[Group], environment: Any) -> list[Group]:
    """Return the groups with the score of its own answer as the pay of each agent."""

    def own(task: str, episode: Any) -> Any:
        scores = grade_alone(environment.benchmark, environment.tasks[task], episode)
        pays = {agent: (score.value,) for agent, score in scores.items()}
        return replace(episode, task_rewards=pays, common=False)

    return [
        replace(group, episodes=tuple(own(group.task, episode) for episode in group.episodes))
        for group in groups
    ]


def test_where_the_reference_answer_is_elected_the_update_is_that_of_grpo(make_policies):
    rooms = environments(8, colors=4, reward=envs.Reward(price=1.0))
    tasks = rooms[0].tasks
    updated = []
    for name in ("rlccf", "grpo"):
        policies = make_policies()
        learner = learner_of(name, policies)
        players = {
            agent: Answering(policy, tasks, seed)
            for seed, (agent, policy) in enumerate(policies.items())
        }
        starts = starts_of(rooms[0])
        groups = learner.collector(rooms, players, starts, 6, seed=0)
        if name == "grpo":
            groups = graded(groups, rooms[0])
        else:
            pays = [
                [list(each.task_rewards.values()) for each in group.episodes] for group in groups
            ]
        before = {agent: weights(policy) for agent, policy in policies.items()}
        metrics = learner.update(groups)
        assert not any(equal(before[agent], weights(policies[agent])) for agent in VOTERS)
        updated.append((policies, metrics, groups))
    (voted, by_vote, _), (taught, by_label, labelled) = updated
    # The reference answer is elected in every task, so that a label pays the same.
    own = [[list(each.task_rewards.values()) for each in group.episodes] for group in labelled]
    assert pays == own and 0 < sum(pay for group in pays for row in group for (pay,) in row) < 144
    assert by_vote == by_label and by_vote["reference_kl"] > 0
    assert all(equal(weights(voted[agent]), weights(taught[agent])) for agent in VOTERS)


def test_reference_answers_pay_nothing_and_prices_stay():
    rooms = environments(30, colors=4, reward=envs.Reward(price=1.0, exempt_answer=False))
    others = environments(30, colors=4, reward=envs.Reward(price=1.0, exempt_answer=False))
    true = dict(rooms[0].tasks)
    for room in others:
        room.tasks = {key: replace(task, answer="brown") for key, task in true.items()}
    paid = []
    for place in (rooms, others):
        team = VoterTeam(0.7)
        policies = {agent: team.policies(rooms[0])[agent] for agent in VOTERS}
        paid.append(Votes()(place, policies, starts_of(rooms[0]), 3, seed=0))
    for labelled, unlabelled in zip(*paid, strict=True):
        for one, other in zip(labelled.episodes, unlabelled.episodes, strict=True):
            assert (one.task_rewards, one.bills) == (other.task_rewards, other.bills)
            assert one.measures["agreement"] == other.measures["agreement"]
            assert (other.solved, other.measures["voter_accuracy"]) == (False, 0.0)
            # "#### red" is five tokens, and 100 tokens cost 1.
            assert one.bills == dict.fromkeys(VOTERS, (0.05,))
            for agent in VOTERS:
                assert one.rewards[agent][0] == pytest.approx(one.task_rewards[agent][0] - 0.05)
    right = [group.episodes[0].measures["voter_accuracy"] for group in paid[0]]
    assert 0.5 < sum(right) / len(right) < 0.9


def test_figures_of_answers_are_those_of_the_update():
    rooms = environments(2, colors=4)
    said = {
        # Task 0: red, red; red, blue; nothing twice. Task 1: all red.
        "solver_0": ["#### red"] * 4,
        "solver_1": ["#### red", "#### blue", "#### red", "#### red"],
        "solver_2": ["", "", "#### red", "#### red"],
    }

    class Script:
        def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
            return [Reply(said[request.agent].pop(0)) for request in requests]

    policies = {agent: Script() for agent in VOTERS}
    groups = Votes()(rooms, policies, starts_of(rooms[0]), 2, seed=0)
    pays = [[each.task_rewards for each in group.episodes] for group in groups]
    assert pays[0] == [
        {"solver_0": (1.0,), "solver_1": (1.0,), "solver_2": (0.0,)},
        {"solver_0": (1.0,), "solver_1": (0.0,), "solver_2": (0.0,)},
    ]
    assert pays[1] == [dict.fromkeys(VOTERS, (1.0,))] * 2
    measures = [each.measures for group in groups for each in group.episodes]
    assert [each["agreement"] for each in measures] == pytest.approx([2 / 3, 1 / 3, 1.0, 1.0])
    # Of twelve answers nine are red, one blue, two none:
    # .75 * .4150 + .0833 * 3.585 + .1667 * 2.585 = 1.0409.
    entropy = [each["answer_entropy"] for each in measures]
    assert entropy == pytest.approx([1.0409] * 4, abs=1e-4)
    # Both tasks elect red.
    assert [each["elected_entropy"] for each in measures] == [0.0] * 4
    # Two unlike agents of unit Gram spectrum 1 +- 1 / sqrt 2, and one apart: of 3 shares .5690,
    # .0976 and .3333, H = .4629 + .3277 + .5283 = 1.3189 bits.
    voters = [each["effective_voters"] for each in measures]
    assert voters == pytest.approx([2**1.3189, 2**1.3189, 1.0, 1.0], abs=2e-3)


def test_the_entropy_of_elected_answers_is_over_tasks():
    rooms = environments(4, colors=4)
    said = [*("red", "red", "blue"), *("red", "blue", "red"), *("blue", "blue", "red"), *"xyz"]

    class Script:
        def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
            return [Reply(f"#### {said.pop(0)}") for _ in requests]

    script = Script()
    groups = Votes()(rooms, dict.fromkeys(VOTERS, script), starts_of(rooms[0]), 1, seed=0)
    entropies = {each.measures["elected_entropy"] for group in groups for each in group.episodes}
    # Red, red, blue, and the x of the first agent: 1/2 * 1 + 2 * 1/4 * 2 = 1.5.
    assert entropies == {1.5}


class Reader:
    """A policy that finds the thing asked for in any wording, or names the first color it reads."""

    def __init__(self, reads: bool) -> None:
        self.reads = reads

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        return [Reply(f"#### {self.color(request.text.splitlines()[1:])}") for request in requests]

    def color(self, lines: Sequence[str]) -> str:
        table, question = lines
        if not self.reads:
            return next(word for word in re.findall(r"\w+", table) if word in COLORS)
        asked = next(word for word in re.findall(r"\w+", question) if word in THINGS)
        fact = next(text for text in table.split(".") if asked in text.split())
        return next(word for word in fact.split() if word in COLORS)


def test_consistency_pays_those_whose_answers_do_not_follow_the_wording():
    rooms = environments(20, colors=3, instructions="brief")
    policies = {agent: Reader(agent == VOTERS[0]) for agent in VOTERS}
    ballots = Votes(Collective(consistency=2))
    groups = ballots(rooms, policies, starts_of(rooms[0]), 3, seed=0)
    assert len({each.turns[0].read for group in groups for each in group.episodes}) == 60
    earned = set()
    for group in groups:
        # The plays begin with the colors of the first, second and third thing.
        first = [text.removesuffix(".").split()[-1] for text in tasks_of(rooms, group).statements]
        shares = [sum(other == color for other in first) - 1 for color in first]
        for place, episode in enumerate(group.episodes):
            pay = (shares[place] / 2,)
            assert episode.task_rewards == {"solver_0": (1.0,), "solver_1": pay, "solver_2": pay}
            assert episode.measures["voter_accuracy"] >= 1 / 3
            earned.add(shares[place])
    assert earned == {0, 1, 2}


def tasks_of(rooms: list[Any], group: Group) -> Any:
    return rooms[0].tasks[group.task]


def test_consistency_needs_several_wordings():
    room = envs.make("gsm8k", free=True, tasks=2, **ALONE)
    with pytest.raises(
        SettingError, match="gsm8k has one for train-0/0; choose an environment with several"
    ):
        Votes(Collective(consistency=2))([room], {}, starts_of(room), 2, seed=0)


REFUSED = [
    ({"collect": Extra(1)}, "independent episodes; got learner.collect (Extra)"),
    ({"price": AccuracyFloor()}, "learner/price (AccuracyFloor) follows the solved episodes"),
    ({"credit": "silence"}, "works with learner.credit=own; got learner.credit=silence"),
    ({"sharing": "shared"}, "got 3 policies of 3 agents, learner.sharing=shared"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_takes_labels_or_equal_policies_is_refused(make_policies, settings, message):
    with pytest.raises(SettingError) as error:
        CollectiveLearner(make_policies(), SGD, **settings)
    assert message in str(error.value)


def test_agents_that_share_weights_are_refused(make_policy):
    policy = make_policy(max_reply_tokens=6)
    for agents, count in (
        (VOTERS, "1 policies of 3 agents"),
        (VOTERS[:1], "1 policies of 1 agent"),
    ):
        with pytest.raises(SettingError, match=count):
            CollectiveLearner(dict.fromkeys(agents, policy), SGD)

"""What a gate lets through, what it costs, and what is a sample of which policy."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, replace

import pytest
import torch
from small_models import TASKS, Writer
from updates import equal, learner, played, reply_logprobs, weights

from laconic.envs import Budget
from laconic.extras.methods.candidates import Alternatives
from laconic.extras.methods.gate import GateCall, gate_call
from laconic.extras.methods.gated import (
    Decision,
    GatedPolicy,
    ModelGate,
    ScriptedGate,
    as_said_by,
    cut_to_decisions,
    reply_probabilities,
)
from laconic.learners.advantages.credit import own as own_credit
from laconic.learners.advantages.group import Advantages
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Reply, Request
from laconic.learners.metrics import summarize, wilson
from laconic.learners.rollout.play import Start, play
from laconic.learners.training.sequences import sequences_of

ALWAYS = ScriptedGate(1.0, 1.0)


@dataclass
class Constant:
    """Gate that decides the same for all, agents that answer included."""

    speaks: bool

    def decide(self, requests, *, seed, greedy):
        return [Decision(self.speaks) for _ in requests]


def calls(policy: HFPolicy) -> list[int]:
    """Rows of every pass of a policy's model from now on."""
    rows: list[int] = []
    policy.model.register_forward_hook(lambda *passed: rows.append(1))
    return rows


@pytest.fixture(scope="module")
def gated(make_policy):
    """Make a policy of fixed weights with a gate in front of it."""

    def make(gate, **settings) -> GatedPolicy:
        policy = make_policy(**settings)
        own = GatedPolicy(policy.model, policy.tokenizer, policy.sampling)
        own.gate = gate
        return own

    return make


@pytest.fixture(scope="module")
def team_of(make_env):
    """Play episodes of the first tasks with one policy for all agents."""

    def play_with(policy, count=4, greedy=False, **settings):
        env = {"information": "split", "rounds": 2, **settings}
        environments = [make_env(**env) for _ in range(count)]
        starts = [Start(seed, TASKS[seed % 2].key) for seed in range(count)]
        policies = dict.fromkeys(environments[0].possible_agents, policy)
        return play(environments, policies, starts, seed=0, greedy=greedy)

    return play_with


def without_gate(episode):
    return replace(episode, turns=tuple(replace(turn, extra={}) for turn in episode.turns))


# A scripted gate

MANY = {"count": 400, "greedy": True, "rounds": 1}
SHORT = {"max_reply_tokens": 4}


@pytest.fixture(scope="module")
def all_spoke(gated, team_of):
    """Play many episodes in which every agent speaks."""
    return team_of(gated(ALWAYS, **SHORT), **MANY)


@pytest.mark.parametrize("rates", [(0.9, 0.2), (0.6, 0.6)])
def test_a_script_with_rates_has_the_closed_forms_of_precision_recall_and_tokens(
    gated, team_of, all_spoke, rates
):
    a, b = rates
    # Agents that answer are not known to be informed; all agents but one take part.
    episodes = team_of(gated(ScriptedGate(a, b), **SHORT), **MANY)
    pairs = [
        (turn, free)
        for episode, full in zip(episodes, all_spoke, strict=True)
        for turn, free in zip(episode.turns, full.turns, strict=True)
    ]
    known = [pair for pair in pairs if pair[0].informed is not None]
    informed = sum(turn.informed for turn, _ in known)
    others = len(known) - informed
    assert informed > 300 and others > 300 and len(known) < len(pairs)
    metrics = summarize(episodes)
    passed = sum(gate_call(turn).speaks for turn, _ in known)
    low, high = wilson(round(metrics["gate_recall"] * informed), informed)
    assert low <= a <= high
    # Of the turns let through, a share of a I are of the I informed ones and b U of the others.
    low, high = wilson(round(metrics["gate_precision"] * passed), passed)
    assert low <= a * informed / (a * informed + b * others) <= high
    precision, recall = metrics["gate_precision"], metrics["gate_recall"]
    assert metrics["gate_f1"] == pytest.approx(2 * precision * recall / (precision + recall))
    # Each message is as long as without a gate, or it is missing.
    rate = {True: a, False: b, None: 1.0}
    assert all(
        turn.tokens_said == gate_call(turn).speaks * free.tokens_said for turn, free in pairs
    )
    mean = sum(rate[turn.informed] * free.tokens_said for turn, free in pairs)
    spread = sum(
        rate[turn.informed] * (1 - rate[turn.informed]) * free.tokens_said**2
        for turn, free in pairs
    )
    said = sum(turn.tokens_said for turn, _ in pairs)
    assert abs(said - mean) <= 1.96 * math.sqrt(spread)


def test_a_gate_that_always_speaks_changes_no_bit(gated, make_policy, make_env, team_of):
    alone, behind = make_policy(), gated(ALWAYS)
    for greedy in (False, True):
        episodes = team_of(behind, greedy=greedy)
        assert [*map(without_gate, episodes)] == team_of(alone, greedy=greedy)
        assert all(gate_call(turn).speaks for episode in episodes for turn in episode.turns)
    updated = {}
    for name, policy in {"alone": alone, "behind": behind}.items():
        policies = dict.fromkeys(make_env().possible_agents, policy)
        group = played(policies, make_env)
        before = weights(policy)
        learner(policies).update([group])
        updated[name] = weights(policy)
        assert not equal(before, policy.model.state_dict())
    assert all(torch.equal(updated["alone"][name], updated["behind"][name]) for name in before)


def test_a_gate_that_never_speaks_makes_no_call_and_says_nothing(gated, team_of):
    policy = gated(Constant(False))
    rows = calls(policy)
    episodes = team_of(policy)
    assert rows == []
    turns = [turn for episode in episodes for turn in episode.turns]
    assert turns and not any(turn.message or turn.tokens_said or turn.reply_ids for turn in turns)
    metrics = summarize(episodes)
    assert metrics["gated_calls"] == metrics["gated_tokens"] == metrics["tokens_said"] == 0
    assert metrics["gate_calls"] == len(turns) / len(episodes)


def test_turns_of_a_silent_gate_train_nothing(gated, make_env):
    policy = gated(Constant(False))
    policies = dict.fromkeys(make_env().possible_agents, policy)
    group, before = played(policies, make_env), weights(policy)
    assert learner(policies).update([group])["steps"] == 0
    assert equal(before, policy.model.state_dict())


def test_a_silent_turn_is_context_and_the_spoken_one_after_it_is_trained(gated):
    policy = gated(Constant(False))
    first = Request("helper_0", "Hello.")
    (silent,) = policy.reply([first], seed=0, greedy=False)
    # The policy would have written the same tokens to be silent by itself.
    own = HFPolicy.quote(policy, first, "")
    assert silent.prompt_ids == (*own.prompt_ids, *own.reply_ids) and silent.reply_ids == ()
    second = Request("helper_0", "And now?", (silent,), ("Hello.",))
    after_own = replace(second, history=(own,))
    assert policy.read(second) == policy.read(after_own)
    policy.gate = Constant(True)
    (spoken,) = policy.reply([second], seed=0, greedy=False)
    (usual,) = HFPolicy.reply(policy, [after_own], seed=0, greedy=False)
    assert replace(spoken, extra={}) == usual
    # Everything is read in the one call: the silent turn and this one.
    both = len(silent.prompt_ids) + len(spoken.prompt_ids) + len(spoken.reply_ids)
    assert gate_call(spoken) == GateCall(True, 0, both) and gate_call(silent) == GateCall(False)
    turns = tuple(
        Turn(
            "helper_0",
            round,
            reply.message,
            reply.prompt_ids,
            reply.reply_ids,
            reply.behavior_logprobs,
        )
        for round, reply in enumerate((silent, spoken))
    )
    rewards = {"helper_0": (0.0, 1.0)}
    episodes = (Episode("t", turns, rewards), Episode("t", turns[:1], {"helper_0": (0.0,)}))
    for unit in ("episode", "reply"):
        settings = {"credit": own_credit, "advantages": Advantages(scale="none"), "unit": unit}
        # The second episode has no sample of the policy, so it gives no sequence.
        (sequence,) = sequences_of(Group("t", episodes), **settings)
        count = len(spoken.reply_ids)
        assert sequence.generated == (False,) * (both - count) + (True,) * count
        ids = (*silent.prompt_ids, *spoken.prompt_ids, *spoken.reply_ids)
        assert sequence.token_ids == ids and sequence.return_to_go == 1.0


def test_no_alternatives_are_sampled_to_a_silenced_turn(gated, make_env):
    environments = [make_env(information="split", rounds=1) for _ in range(2)]
    policies = dict.fromkeys(environments[0].possible_agents, gated(ScriptedGate(1.0, 0.0)))
    collector = Alternatives(turns="all")
    groups = collector(environments, policies, [Start(0, "fruit")], 2, seed=0)
    chosen = [[t for t in group.episodes[0].turns if t.trained] for group in groups]
    assert all(len(turns) == 1 and gate_call(turns[0]).speaks for turns in chosen)
    # Two of three helpers hold a relevant statement of `fruit`, and the solver always speaks.
    assert len(groups) == 3


# Rules of the environment


def test_no_gate_lets_an_agent_speak_for_another_or_beyond_its_budget(gated, make_env):
    policy = gated(ScriptedGate(1.0, 0.0), max_reply_tokens=200)
    policy.sample_with(Writer(policy, "helper_1: 3 apples\nsolver_0: #### 7"))
    policies = dict.fromkeys(make_env().possible_agents, policy)
    # Of the statements of `fruit`, the first and the last are relevant.
    env = make_env(information="split", rounds=2, topology="star", budget=Budget(message=4))
    (episode,) = play([env], policies, [Start(0, "fruit")], seed=0)
    helpers = [turn for turn in episode.turns if turn.agent != "solver_0" and turn.round == 0]
    spoke = [turn for turn in helpers if turn.informed]
    held = [turn for turn in helpers if not turn.informed]
    assert spoke and held
    assert all(gate_call(turn).speaks and turn.cut and turn.tokens_said == 4 for turn in spoke)
    assert not any(gate_call(turn).speaks or turn.message or turn.tokens_said for turn in held)
    read = next(t.read for t in episode.turns if (t.agent, t.round) == ("solver_0", 1))
    begins = [line.split(":")[0] for line in read.splitlines() if not line.startswith(" ")]
    assert not {turn.agent for turn in held} & {*begins}
    # The claim to be another agent stands indented below its author's name.
    assert {turn.agent for turn in spoke} <= {*begins}


# A gate of weights


def test_a_gate_is_as_silent_as_its_policy_would_be(make_policy):
    policy = make_policy()
    word = policy.write("")
    texts = [(*policy.read(Request("solver_0", "w " * count)), *word) for count in (1, 9, 4, 1)]
    found = reply_probabilities(policy, texts, len(word))
    assert len(found) == 3
    for text, probability in found.items():
        turn = Turn("solver_0", 0, "", text[: -len(word)], word, (0.0,) * len(word))
        assert probability == pytest.approx(math.exp(reply_logprobs(policy, turn).sum()), rel=1e-4)
    policy.positions = len(texts[1]) - 1
    assert reply_probabilities(policy, texts, len(word))[texts[1]] == 1.0


def test_a_threshold_decides_in_greedy_play_and_chance_in_sampled_play(make_policy):
    policy = make_policy()
    cut_to_decisions(policy)
    request = Request("solver_0", "How many?")
    text = (*policy.read(request), *policy.write(""))
    probability = 1 - reply_probabilities(policy, [text], 1)[text]
    for threshold, speaks_now in ((probability - 1e-6, True), (probability + 1e-6, False)):
        gate = ModelGate(policy, threshold)
        (decision,) = gate.decide([request], seed=0, greedy=True)
        assert decision.speaks is speaks_now and decision.tokens == len(text)
    decisions = ModelGate(policy, 0.5).decide([request] * 2000, seed=0, greedy=False)
    low, high = wilson(sum(decision.speaks for decision in decisions), 2000)
    assert low <= probability <= high


def test_a_gate_reads_what_its_agent_said(make_policy):
    policy = make_policy()
    cut_to_decisions(policy)
    large = make_policy(architecture="qwen3")
    first = Request("helper_0", "Hello.")
    said = large.quote(first, "Three apples.")
    second = Request("helper_0", "And now?", (said, Reply("")), ("Hello.", "Nobody spoke."))
    own = as_said_by(policy, second)
    assert [reply.reply_ids for reply in own.history] == [
        policy.write("Three apples.")[:1],
        policy.write(""),
    ]
    assert own.history[0].prompt_ids == policy.read(first)


# Engines


class Answering(Writer):
    """Samples single prompts."""

    def submit(self, work):
        raise AssertionError("not needed here")

    async def sample_one(self, prompt):
        return self.sample([prompt])[0]


def test_single_requests_pass_the_gate_too(gated):
    policy = gated(Constant(False))
    policy.sample_with(Answering(policy, "Three."))
    request = Request("helper_0", "Hello.")
    settings = {"seed": 0, "greedy": True, "episode": 0, "version": 1}
    silent = asyncio.run(policy.answer(request, **settings))
    assert (silent.message, silent.reply_ids, policy.sampler.prompts) == ("", (), 0)
    policy.gate = Constant(True)
    spoken = asyncio.run(policy.answer(request, **settings))
    assert (spoken.message, policy.sampler.prompts) == ("Three.", 1)
    assert gate_call(spoken).speaks and gate_call(spoken).tokens > 0

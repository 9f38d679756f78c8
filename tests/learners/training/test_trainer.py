"""Who gets gradient, and from which tokens; the state of a trainer, and its settings."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
import torch
from updates import played

from laconic.envs.errors import SettingError
from laconic.learners.agents.hf import HFPolicy, HFTeam, SamplingSettings
from laconic.learners.agents.lora import Lora
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.algorithms.group import GroupLearner, trainers_of
from laconic.learners.distributed.processes import Processes
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Request
from laconic.learners.training.objective import Objective
from laconic.learners.training.trainer import Trainer, UpdateSettings

SGD = partial(torch.optim.SGD, lr=1.0)
ADAMW = partial(torch.optim.AdamW, lr=1e-2, weight_decay=0.0)


def weights(policy: HFPolicy) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in policy.model.state_dict().items()}


def same(weights: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(tensor, other[name]) for name, tensor in weights.items())


def update(policies, groups, optimizer=SGD, **settings) -> GroupLearner:
    learner = GroupLearner(
        policies, optimizer, **{"minibatches": 1, "max_grad_norm": 1e9, **settings}
    )
    learner.update(groups)
    return learner


@pytest.fixture
def team(make_policy, make_env):
    """Return a solver and a helper with their own weights, and two helpers that follow a script."""
    policies = {
        "solver_0": make_policy(max_reply_tokens=6, model={"seed": 1}),
        "helper_0": make_policy(max_reply_tokens=6, model={"seed": 2}),
    }
    script = ScriptedPolicy(lambda task, request, generator: "There are 3", make_env().tasks)
    return {**policies, "helper_1": script, "helper_2": script}


# Gradient


def test_an_agent_learns_from_its_own_tokens_alone(team, make_env):
    """One step of plain descent against the sum written out over that agent's reply tokens.

    On policy every ratio is 1, and its gradient that of the mean log-probability of a sequence:
    the step is the mean over sequences of advantage times that.
    """
    group = played(team, make_env)
    solver = team["solver_0"]
    reference = copy.deepcopy(solver.model)
    learner = GroupLearner(team, SGD, minibatches=1, max_grad_norm=1e9)
    sequences = learner.sequences(group, ("solver_0",))
    total = torch.zeros(())
    for sequence, episode in zip(sequences, group.episodes, strict=True):
        conversation: list[int] = []
        own: list[torch.Tensor] = []
        for turn in episode.turns:
            if turn.agent != "solver_0":
                continue
            conversation += turn.prompt_ids
            start = len(conversation)
            conversation += turn.reply_ids
            logits = reference(input_ids=torch.tensor([conversation])).logits[0]
            logprobs = torch.log_softmax(logits, -1)[start - 1 : -1]
            own.append(logprobs.gather(-1, torch.tensor(turn.reply_ids)[:, None]).squeeze(-1))
        total = total + sequence.advantage * torch.cat(own).mean() / len(sequences)
    total.backward()
    before = dict(solver.model.named_parameters())
    before = {name: tensor.detach().clone() for name, tensor in before.items()}
    learner.update([group])
    for name, parameter in reference.named_parameters():
        moved = dict(solver.model.named_parameters())[name].detach() - before[name]
        torch.testing.assert_close(moved, parameter.grad, rtol=1e-3, atol=1e-5)


def test_a_silent_turn_trains_its_silence_token(make_policy):
    policy = make_policy(max_reply_tokens=6)
    prompt = policy.read(Request("solver_0", "Hello"))
    silence = policy.write("")
    assert len(silence) == 1

    def logprob() -> torch.Tensor:
        with torch.no_grad():
            logits = policy.model(input_ids=torch.tensor([prompt])).logits[0, -1]
        return torch.log_softmax(logits, -1)[silence[0]]

    def episode(reply: tuple[int, ...], message: str, pay: float) -> Episode:
        ids = torch.tensor([[*prompt, *reply]])
        with torch.no_grad():
            logprobs = torch.log_softmax(policy.model(input_ids=ids).logits[0], -1)
        place = len(prompt) - 1
        reply_logprobs = logprobs[place:-1].gather(-1, torch.tensor(reply)[:, None]).squeeze(-1)
        turn = Turn("solver_0", 0, message, prompt, reply, tuple(reply_logprobs.tolist()))
        return Episode("t", (turn,), {"solver_0": (pay,)})

    for pay, sign in ((1.0, 1), (0.0, -1)):
        before = logprob()
        spoke = episode(policy.write("Hi"), "Hi", 1.0 - pay)
        group = Group("t", (episode(silence, "", pay), spoke))
        update({"solver_0": policy}, [group], partial(torch.optim.SGD, lr=1e-2))
        assert (logprob() - before) * sign > 0


def test_a_frozen_agent_gets_no_gradient_and_stays(team, make_env):
    frozen = team["helper_0"]
    frozen.model.requires_grad_(False)
    before = {agent: weights(team[agent]) for agent in ("solver_0", "helper_0")}
    group = played(team, make_env)
    learner = update(team, [group], ADAMW)
    assert all(parameter.grad is None for parameter in frozen.model.parameters())
    assert same(before["helper_0"], weights(frozen))
    assert not same(before["solver_0"], weights(team["solver_0"]))
    assert len(learner.state_dict()["trainers"]) == 1


# Settings of one's own


def test_everybody_learns_at_its_own_rate(team, make_env):
    group = played(team, make_env)
    start = {agent: weights(team[agent]) for agent in ("solver_0", "helper_0")}
    moved = {}
    for rate in (1.0, 0.25, 0.0):
        for agent, state in start.items():
            team[agent].model.load_state_dict(state)
        team["helper_0"].optimizer = {"lr": rate}
        update(team, [group])
        moved[rate] = [
            weights(team[agent])["model.norm.weight"] - start[agent]["model.norm.weight"]
            for agent in start
        ]
    for rate, (solver, helper) in moved.items():
        assert torch.equal(solver, moved[1.0][0]) and solver.abs().sum() > 0
        torch.testing.assert_close(helper, rate * moved[1.0][1], rtol=1e-3, atol=1e-6)


def test_own_rates_fall_with_the_others_and_come_back(team, make_env):
    team["helper_0"].optimizer = {"lr": 0.5, "momentum": 0.9}
    trainers = trainers_of(team, SGD, UpdateSettings(decay_updates=4))
    for trainer in trainers:
        assert trainer.update([], 2) == []
    assert [trainer.optimizer.param_groups[0]["lr"] for trainer in trainers] == [0.5, 0.25]
    assert [trainer.optimizer.param_groups[0]["momentum"] for trainer in trainers] == [0, 0.9]


@pytest.mark.parametrize("settings", [{"lrr": 1.0}, {"lr": -1.0}])
def test_settings_that_the_optimiser_refuses_are_said_of_their_agent(team, settings):
    team["helper_0"].optimizer = settings
    with pytest.raises(SettingError, match=r"agent\.optimizer has .* for helper_0"):
        trainers_of(team, SGD)


# Adapters


@pytest.fixture
def adapted(saved, make_env):
    pytest.importorskip("peft")
    short = {"lora": Lora(rank=2), "sampling": SamplingSettings(max_reply_tokens=12)}
    return lambda model=None: HFTeam(model or str(saved), "lora", **short).policies(make_env())


@dataclass
class RecordedProcesses(Processes):
    """Processes that keep the models that they were told to shard."""

    models: list[torch.nn.Module] = field(default_factory=list)

    def shard(self, model: torch.nn.Module, autocast: bool = False) -> None:
        self.models.append(model)


@pytest.mark.parametrize(("beta", "count"), [(0.0, 1), (0.1, 2)])
def test_whole_weights_and_their_reference_are_sharded_and_adapters_are_not(
    make_policy, adapted, beta, count
):
    settings = UpdateSettings(objective=Objective(beta=beta))
    whole, processes = make_policy(), RecordedProcesses()
    Trainer(whole, ("solver_0",), SGD, settings, processes)
    assert len(processes.models) == count and processes.models[0] is whole.model

    agent, policy = next(iter(adapted().items()))
    Trainer(policy, (agent,), SGD, settings, processes)
    assert len(processes.models) == count


def test_an_update_moves_adapters_alone_each_for_its_agent(adapted, make_env):
    policies = adapted()
    group = played(policies, make_env)
    quiet = tuple(
        replace(episode, turns=tuple(turn for turn in episode.turns if turn.agent != "helper_1"))
        for episode in group.episodes
    )
    before = {agent: weights(policy) for agent, policy in policies.items()}
    learner = update(policies, [replace(group, episodes=quiet)], ADAMW)
    for agent, policy in policies.items():
        moved = {
            n for n, tensor in weights(policy).items() if not torch.equal(tensor, before[agent][n])
        }
        assert all("lora_" in name for name in moved)
        assert bool(moved) == (agent != "helper_1")
    for state in learner.state_dict()["trainers"]:
        assert all("lora_" in name for name in state["model"])


@pytest.mark.slow
@pytest.mark.parametrize("kl", [0.0, 0.1])
def test_a_loaded_state_of_adapters_goes_on_bit_for_bit(adapted, make_env, kl):
    def built(policies):
        objective = Objective(beta=kl, epsilon=1.0, epsilon_high=10.0)
        return GroupLearner(policies, ADAMW, minibatches=2, objective=objective)

    policies = adapted()
    trained, group = built(policies), played(policies, make_env)
    trained.update([group])
    state = copy.deepcopy(trained.state_dict())
    expected = trained.update([group])
    fresh = adapted()
    loaded = built(fresh)
    loaded.load_state_dict(state)
    assert loaded.update([group]) == expected
    for agent, policy in policies.items():
        assert same(weights(policy), weights(fresh[agent]))


@pytest.mark.slow
def test_the_reference_is_the_adapter_at_the_start_and_shares_the_base(adapted, make_env, tmp_path):
    policies = adapted()
    for agent, policy in policies.items():
        for parameter in policy.model.parameters():
            if parameter.requires_grad:
                parameter.data.normal_(std=0.2)
        policy.save(tmp_path / "adapters" / agent)
    policies = adapted(str(tmp_path / "adapters"))
    learner = GroupLearner(
        policies,
        ADAMW,
        minibatches=1,
        objective=Objective(beta=0.1, epsilon=1.0, epsilon_high=10.0),
    )
    group = played(policies, make_env)
    first = learner.update([group])["reference_kl"]
    assert first == pytest.approx(0.0, abs=1e-9)
    assert learner.update([group])["reference_kl"] > first
    (trainer, *_) = learner._trainers
    base = trainer.policy.model.get_input_embeddings().weight
    assert trainer._reference.get_input_embeddings().weight is base

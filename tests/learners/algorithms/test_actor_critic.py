"""IPPO and MAPPO: the pay of a reply, the effects of an update, and unchanged state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from updates import Speakers, group_of

from laconic.envs.errors import SettingError
from laconic.learners import checkpoint
from laconic.learners.advantages.credit import own, team
from laconic.learners.advantages.group import Advantages
from laconic.learners.agents.hf import HFPolicy, HFTeam, SamplingSettings
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.algorithms.actor_critic import PPO, ActorCriticLearner, trajectories_of
from laconic.learners.algorithms.base import Resumable
from laconic.learners.algorithms.critic import Critic
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Request

SGD = partial(torch.optim.SGD, lr=0.1)
ADAMW = partial(torch.optim.AdamW, lr=1e-2, weight_decay=0.0)
SEES = ("own", "team")
MUTE = ScriptedPolicy(lambda task, request, generator: "", {})


def learner(policies, sees: str = "own", optimizer=SGD, **settings) -> ActorCriticLearner:
    critic = partial(Critic, sees=sees)
    return ActorCriticLearner(
        policies, optimizer, **{"critic": critic, "minibatches": 1, **settings}
    )


def weights(policy: HFPolicy) -> list[torch.Tensor]:
    return [tensor.clone() for tensor in policy.model.state_dict().values()]


def equal(tensors: list[torch.Tensor], policy: HFPolicy) -> bool:
    return all(map(torch.equal, tensors, policy.model.state_dict().values()))


@pytest.fixture
def policy(make_policy) -> HFPolicy:
    return make_policy(max_reply_tokens=8)


@pytest.fixture
def speakers(policy) -> Speakers:
    return {"solver_0": policy, "helper_0": policy}


PAYS = [(1.0, 0.5), (0.0, 0.0), (0.5, -1.0), (0.0, 0.25)]


@pytest.fixture
def group(speakers) -> Group:
    return group_of(speakers, PAYS)


# What a reply is paid


def said(agent: str, number: int, **settings) -> Turn:
    return replace(Turn(agent, number, "", (1, 2), (3,), (-1.0,)), **settings)


def test_a_reply_is_paid_until_the_next_one_of_its_agent():
    """`a` speaks in rounds 1 and 3 of five, `b` never with tokens, `c` in round 0 as was given."""
    turns = (
        said("c", 0, trained=False),
        said("a", 1),
        Turn("b", 2, "scripted"),
        said("a", 3),
        said("c", 4),
    )
    paid = (100.0, 1.0, 2.0, 4.0, 8.0)
    played = Episode("t", turns, dict.fromkeys("abc", paid))
    results = {
        trajectory.sequences[0].agent: trajectory
        for trajectory in trajectories_of(played, 7, own, "abc")
    }
    # What came before the first reply of its own is nobody's: 100 of `a`, all but 8 of `c`.
    pays = {agent: trajectory.rewards for agent, trajectory in results.items()}
    assert pays == {"a": (3.0, 12.0), "c": (8.0,)}
    assert [sequence.episode for sequence in results["a"].sequences] == [7, 7]
    assert [sum(sequence.generated) for sequence in results["c"].sequences] == [1]


def test_pay_follows_the_credit_and_agents_that_are_not_trained_have_none():
    played = Episode("t", (said("a", 0), said("b", 0)), {"a": (1.0,), "b": (4.0,)})
    # The team's sum is 5.
    (result,) = trajectories_of(played, 0, team, ["b"])
    assert result.sequences[0].agent == "b" and result.rewards == (5.0,)
    assert list(trajectories_of(played, 0, team, [])) == []


def test_a_reward_that_is_no_number_is_refused_by_name():
    played = Episode("t", (said("a", 0),), {"a": (float("nan"),)})
    with pytest.raises(SettingError, match="'a'.*'t'"):
        list(trajectories_of(played, 0, own, ["a"]))


# Nothing to learn


@pytest.mark.parametrize("sees", SEES)
def test_no_groups_and_groups_without_tokens_take_no_step(policy, speakers, sees):
    before = weights(policy)
    nobody = Episode("t", (), {"solver_0": (1.0,), "helper_0": (0.0,)})
    teacher = learner(speakers, sees, ADAMW)
    for groups in ([], [Group("t", (nobody, nobody))]):
        assert teacher.update(groups) == {"steps": 0.0, "skipped_steps": 0.0}
    assert equal(before, policy)


def test_equal_pay_of_everybody_changes_no_bit_while_nothing_is_expected(policy, speakers):
    """With lambda 1 all first advantages are the pay itself, and equal ones are whitened to 0."""
    before = weights(policy)
    metrics = learner(speakers, gae_lambda=1.0).update([group_of(speakers, [(0.5, 0.5)] * 3)])
    assert metrics["grad_norm"] == 0.0 and equal(before, policy)


# Direction and size


@pytest.mark.parametrize("sees", SEES)
def test_a_critic_that_expects_nothing_leaves_reinforce_plus_plus(make_policy, sees):
    """Before it has learned all values are 0, and with lambda 1 advantages are the whitened pay."""
    after = []
    for make in ("group", "critic"):
        speakers = {"solver_0": make_policy(max_reply_tokens=8)}
        speakers["helper_0"] = make_policy(max_reply_tokens=8, model={"seed": 1})
        group = group_of(speakers, PAYS)
        shared = {"objective": PPO(), "minibatches": 3, "max_grad_norm": 1e9}
        if make == "critic":
            metrics = learner(speakers, sees, gae_lambda=1.0, **shared).update([group])
        else:
            plain = Advantages(center="none", scale="none")
            other = GroupLearner(
                speakers, SGD, advantages=plain, whiten=True, unit="reply", **shared
            )
            expected = other.update([group])
        after.append([policy for agent in speakers for policy in weights(speakers[agent])])
    compared = {"groups_without_contrast", "task_advantage", "price_advantage"}
    shared = expected.keys() - compared
    assert "loss" in shared
    assert {name: metrics[name] for name in shared} == pytest.approx(
        {name: expected[name] for name in shared}, rel=1e-6
    )
    for mine, other in zip(*after, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-6, atol=1e-7)


def test_only_what_the_critic_did_not_expect_is_learned(policy):
    """Two tasks pay 1 and -1 whatever is said: once that is known, nothing is left to learn."""
    alone = {"solver_0": policy}
    groups = []
    for task, text, pay in (("good", "Anna has 12 apples.", 1.0), ("bad", "Hello team", -1.0)):
        replies = policy.reply([Request("solver_0", text)] * 4, seed=1, greedy=False)
        episodes = (
            Episode(
                task,
                (
                    Turn(
                        "solver_0",
                        0,
                        "",
                        reply.prompt_ids,
                        reply.reply_ids,
                        reply.behavior_logprobs,
                    ),
                ),
                {"solver_0": (pay,)},
            )
            for reply in replies
        )
        groups.append(Group(task, tuple(episodes)))
    critic = partial(Critic, learning_rate=0.01, epochs=100)
    still = partial(torch.optim.SGD, lr=0.0)
    teacher = learner(alone, optimizer=still, critic=critic)
    first, second = teacher.update(groups), teacher.update(groups)
    # Values of 0 against returns of 1 and -1.
    assert first["value_loss"] == pytest.approx(1.0)
    assert first["explained_variance"] == pytest.approx(0.0)
    assert second["value_loss"] < 1e-2 and second["explained_variance"] > 0.99


@pytest.mark.parametrize("sees", SEES)
def test_the_return_rises(make_policy, sees):
    """One round of two agents: replies that begin with an even token earn 1, others nothing."""
    policy = make_policy(max_reply_tokens=1)
    speakers = {"solver_0": policy, "helper_0": policy}
    optimizer = partial(torch.optim.AdamW, lr=0.03, weight_decay=0.0)
    teacher = learner(speakers, sees, optimizer, minibatches=4)
    earned = []
    for step in range(8):
        turns = {}
        for place, agent in enumerate(speakers):
            requests = [Request(agent, f"Hello {agent}")] * 32
            turns[agent] = [
                Turn(agent, 0, "", reply.prompt_ids, reply.reply_ids, reply.behavior_logprobs)
                for reply in policy.reply(requests, seed=2 * step + place, greedy=False)
            ]
        episodes = tuple(
            Episode("t", pair, {turn.agent: (float(turn.reply_ids[0] % 2 == 0),) for turn in pair})
            for pair in zip(*turns.values(), strict=True)
        )
        earned.append(sum(sum(episode.returns.values()) for episode in episodes) / 64)
        teacher.update([Group("t", episodes)])
    assert earned[0] < 0.7 and earned[-1] > 0.9


def test_silence_is_trained_like_any_other_reply(policy, tiny_tokenizer):
    """Of two replies the silence word alone earns something."""
    silence = (tiny_tokenizer.convert_tokens_to_ids("<silence>"),)
    prompt = policy.read(Request("solver_0", "Hello"))

    @torch.no_grad()
    def logprob(reply: tuple[int, ...]) -> torch.Tensor:
        logits = policy.model(input_ids=torch.tensor([[*prompt, *reply]])).logits[0]
        chosen = torch.log_softmax(logits[len(prompt) - 1 : -1], -1)
        return chosen.gather(-1, torch.tensor(reply)[:, None]).squeeze(-1)

    turns = [
        Turn("solver_0", 0, "", prompt, reply, tuple(logprob(reply).tolist()))
        for reply in (silence, (50, 51))
    ]
    episodes = tuple(
        Episode("t", (turn,), {"solver_0": (float(not place),)}) for place, turn in enumerate(turns)
    )
    before = logprob(silence)
    teacher = learner({"solver_0": policy}, optimizer=partial(torch.optim.SGD, lr=0.01))
    teacher.update([Group("t", episodes)])
    assert logprob(silence) > before


# Teams


@pytest.mark.parametrize("sees", SEES)
def test_a_frozen_agent_and_a_script_are_left_alone(make_policy, sees):
    frozen = make_policy(max_reply_tokens=8, model={"seed": 1})
    frozen.model.requires_grad_(False)
    learns = make_policy(max_reply_tokens=8)
    policies_of = {"solver_0": learns, "helper_0": frozen}
    group = group_of(policies_of, PAYS)
    scripted = replace(group.episodes[0], rewards={**group.episodes[0].rewards, "mute_0": (0, 9)})
    turns = (*scripted.turns, Turn("mute_0", 1, "hm"))
    group = replace(group, episodes=(replace(scripted, turns=turns), *group.episodes[1:]))
    still, moved = weights(frozen), weights(learns)
    teacher = learner({**policies_of, "mute_0": MUTE}, sees)
    metrics = teacher.update([group])
    assert metrics["sequences"] == 8.0
    assert equal(still, frozen) and not equal(moved, learns)
    assert all(parameter.grad is None for parameter in frozen.model.parameters())
    # A critic of the team reads what the frozen agent reads.
    assert ("helper_0" in teacher._critic.policies) == (sees == "team")


def test_separate_policies_learn_from_their_own_replies_alone(make_policy):
    speakers = {"solver_0": make_policy(max_reply_tokens=8)}
    speakers["helper_0"] = make_policy(max_reply_tokens=8, model={"seed": 1})
    group = group_of(speakers, PAYS)
    mute = tuple(
        replace(episode, turns=tuple(turn for turn in episode.turns if turn.agent == "solver_0"))
        for episode in group.episodes
    )
    moved, still = (weights(policy) for policy in speakers.values())
    learner(speakers).update([replace(group, episodes=mute)])
    assert not equal(moved, speakers["solver_0"]) and equal(still, speakers["helper_0"])


@pytest.mark.parametrize("sees", SEES)
def test_adapters_learn_and_their_base_stays(saved: Path, sees):
    pytest.importorskip("peft")

    class Agents:
        possible_agents = ("solver_0", "helper_0")

    sampling = SamplingSettings(explain_silence=False, max_reply_tokens=8)
    policies = HFTeam(str(saved), sharing="lora", sampling=sampling).policies(Agents())
    before = {
        agent: {name: parameter.clone() for name, parameter in policy.model.named_parameters()}
        for agent, policy in policies.items()
    }
    learner(policies, sees).update([group_of(policies, PAYS)])
    for agent, policy in policies.items():
        after = dict(policy.model.named_parameters())
        first = before[agent]
        moved = {name for name, last in after.items() if not torch.equal(last, first[name])}
        assert moved and all(after[name].requires_grad for name in moved)


# Going on


@pytest.mark.parametrize("sees", SEES)
def test_a_run_goes_on_bit_for_bit_from_its_checkpoint(make_policy, tmp_path, sees):
    def built() -> tuple[Speakers, ActorCriticLearner]:
        policy, other = (make_policy(max_reply_tokens=8, model={"seed": n}) for n in (1, 2))
        policies = {"solver_0": policy, "helper_0": other}
        return policies, learner(policies, sees, ADAMW, minibatches=2, decay_updates=9)

    policies, trained = built()
    assert isinstance(trained, Resumable)
    group = group_of(policies, PAYS)
    trained.update([group])
    path = checkpoint.save(tmp_path, 1, trained.state_dict())
    expected = trained.update([group])
    fresh, loaded = built()
    loaded.load_state_dict(checkpoint.load(path))
    assert loaded.update([group]) == expected
    assert all(equal(weights(policies[agent]), fresh[agent]) for agent in policies)
    assert all(map(torch.equal, *(network_of(critic) for critic in (trained, loaded))))


def network_of(teacher: ActorCriticLearner) -> list[torch.Tensor]:
    return list(teacher.state_dict()["critic"]["network"].values())


def test_what_price_and_collector_remember_goes_with_the_state(speakers):
    class Remembering:
        """Counts calls of `state_dict`, and restores the count of another."""

        def __init__(self) -> None:
            self.count = 0

        def state_dict(self) -> dict[str, int]:
            self.count += 1
            return {"count": self.count}

        def load_state_dict(self, state: dict[str, int]) -> None:
            self.count = state["count"]

    state = learner(speakers, price=Remembering(), collect=Remembering()).state_dict()
    loaded = learner(speakers, price=Remembering(), collect=Remembering())
    loaded.load_state_dict(state)
    assert loaded.price.count == loaded.collector.play.count == 1
    learner(speakers).load_state_dict(learner(speakers).state_dict())


def test_metrics_say_how_the_critic_does(speakers, group):
    metrics = learner(speakers, minibatches=2).update([group])
    expected = {"value_loss", "explained_variance", "clip_fraction", "approx_kl", "grad_norm"}
    assert expected <= metrics.keys() and metrics["steps"] == 2.0


@pytest.mark.parametrize(
    "settings",
    [
        {"gamma": 1.5},
        {"gamma": float("nan")},
        {"gae_lambda": -0.1},
        {"gae_lambda": True},
        {"minibatches": 0},
        {"credit": "silence"},
        {"credit": "shapley"},
        {"credit": "rank"},
    ],
)
def test_settings_that_make_no_sense_are_refused(speakers, settings: dict[str, object]):
    with pytest.raises(SettingError, match=f"learner.{next(iter(settings))}"):
        learner(speakers, **settings)


def test_a_team_without_anybody_to_train_is_refused(make_policy: Callable[..., HFPolicy]):
    with pytest.raises(SettingError, match="has weights to train"):
        learner({"solver_0": MUTE})

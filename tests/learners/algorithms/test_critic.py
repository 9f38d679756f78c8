"""Inputs of a critic, its learning, and state that it does not change."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.algorithms.critic import Critic, View

SEES = ("own", "team")
Policies = dict[str, HFPolicy]


@pytest.fixture
def policies(make_policy: Callable[..., HFPolicy]) -> Policies:
    """Return two policies that share weights and one of another width."""
    shared = make_policy()
    wide = make_policy(model={"hidden_size": 24, "head_dim": 12})
    return {"a_0": shared, "a_1": shared, "b_0": wide}


WIDTHS = {"a_0": 16, "a_1": 16, "b_0": 24}


def views(count: int, seed: int = 0) -> list[View]:
    """Random states of all three; the agents take turns in asking."""
    draw = torch.Generator().manual_seed(seed)
    return [
        View(
            tuple(WIDTHS)[place % 3],
            {agent: torch.randn(width, generator=draw) for agent, width in WIDTHS.items()},
        )
        for place in range(count)
    ]


def with_state(view: View, agent: str, state: torch.Tensor) -> View:
    return View(view.agent, {**view.states, agent: state})


def learned(policies: Policies, sees: str, **settings) -> Critic:
    """Return a critic that was trained on each agent."""
    critic = Critic(policies, tuple(policies), sees=sees, learning_rate=0.01, **settings)
    asking = views(12)
    targets = torch.linspace(-1, 1, 12, dtype=torch.float64)
    critic.learn(asking, critic.values(asking).double(), targets, 0)
    return critic


@pytest.mark.parametrize("sees", SEES)
def test_at_first_nothing_is_expected_of_anybody(policies, sees):
    critic = Critic(policies, tuple(policies), sees=sees)
    assert critic.values(views(5)).tolist() == [0.0] * 5
    assert Critic({}, (), sees=sees).values([]).tolist() == []


@pytest.mark.slow
@pytest.mark.parametrize("sees", SEES)
def test_it_learns_what_states_are_worth(policies, sees):
    """The return is the first number of the asking agent's own state."""
    critic = Critic(policies, tuple(policies), sees=sees, learning_rate=0.01, epochs=100, batch=32)
    asking = views(96)
    returns = torch.stack([view.states[view.agent][0] for view in asking]).double()
    first = critic.learn(asking, critic.values(asking).double(), returns, 0)
    # All values were 0, so the loss is the mean square and nothing was foretold.
    assert first["value_loss"] == pytest.approx(float(returns.square().mean()))
    assert first["explained_variance"] == pytest.approx(0.0)
    second = critic.learn(asking, critic.values(asking).double(), returns, 1)
    assert second["explained_variance"] > 0.9 and second["value_loss"] < 0.1 * first["value_loss"]


def test_the_first_step_goes_where_the_gradient_points(policies):
    """At first the value is its bias b = 0, and d/db mean (b - R)^2 = -2 mean R < 0.

    Adam's first step is as long as the learning rate in every direction, so b becomes 0.01. The
    weights W behind the inner layer h move by 0.01 each too, towards sign(sum R h), and their
    product with h is the rest.
    """
    critic = Critic(policies, ("b_0",), learning_rate=0.01, epochs=1)
    asking = [view for view in views(9) if view.agent == "b_0"][:1]
    critic.learn(asking, torch.zeros(1), torch.tensor([2.0]), 0)
    network = critic.state_dict()["network"]
    assert network["_biases"].tolist() == pytest.approx([0.01], rel=1e-4)
    assert network["_weights"].abs().flatten().tolist() == pytest.approx([0.01] * 64, rel=1e-3)
    assert 0.01 < critic.values(asking).item() <= 0.01 * 65


def test_an_own_critic_sees_one_conversation_and_that_of_a_team_sees_all(policies):
    asking = views(3)
    other = torch.randn(24, generator=torch.Generator().manual_seed(9))
    moved = [with_state(view, "b_0", other) for view in asking]
    for sees, agents in (("own", ["b_0"]), ("team", ["a_0", "a_1", "b_0"])):
        critic = learned(policies, sees)
        before, after = critic.values(asking), critic.values(moved)
        changed = [view.agent for view, b, a in zip(asking, before, after, strict=True) if b != a]
        assert changed == agents


def test_agents_that_share_a_policy_share_a_head_and_the_team_tells_them_apart(policies):
    state = torch.randn(16, generator=torch.Generator().manual_seed(3))
    rest = views(1)[0].states
    both = [View(agent, {**rest, "a_0": state, "a_1": state}) for agent in ("a_0", "a_1")]
    own, team = (learned(policies, sees).values(both).tolist() for sees in SEES)
    assert own[0] == pytest.approx(own[1], rel=1e-5)
    assert team[0] != pytest.approx(team[1], rel=1e-3)


def test_somebody_who_has_not_read_anything_yet_is_left_out(policies):
    critic = learned(policies, "team")
    view = views(1)[0]
    alone = View(view.agent, {view.agent: view.states[view.agent]})
    assert critic.values([alone, view])[0] == critic.values([alone])[0] != critic.values([view])[0]


def test_a_view_holds_what_was_known_in_its_round(policies):
    states = {(a, n): torch.full((w,), float(n)) for a, w in WIDTHS.items() for n in (0, 1)}
    del states["b_0", 0]
    own, team = (Critic(policies, ("a_0",), sees=sees) for sees in SEES)
    assert own.view("a_0", 1, states).states == {"a_0": states["a_0", 1]}
    assert list(team.view("a_0", 0, states).states) == ["a_0", "a_1"]
    assert list(team.view("a_0", 1, states).states) == ["a_0", "a_1", "b_0"]
    assert list(own.policies) == ["a_0"] and list(team.policies) == list(policies)


def test_no_gradient_reaches_a_policy(policies):
    before = {name: copy.deepcopy(policy.model.state_dict()) for name, policy in policies.items()}
    for sees in SEES:
        learned(policies, sees)
    for agent, policy in policies.items():
        assert all(parameter.grad is None for parameter in policy.model.parameters())
        assert all(torch.equal(before[agent][n], t) for n, t in policy.model.state_dict().items())


def test_equal_returns_have_no_variance_to_explain(policies):
    critic = Critic(policies, tuple(policies))
    metrics = critic.learn(views(3), torch.zeros(3), torch.full((3,), 0.5), 0)
    assert metrics == {"value_loss": 0.25}


def test_a_step_that_is_not_finite_is_skipped_and_counted(policies):
    critic = Critic(policies, tuple(policies), epochs=2, batch=2)
    broken = [*views(2), with_state(views(3)[2], "b_0", torch.full((24,), float("inf")))]
    metrics = critic.learn(broken, torch.zeros(3), torch.ones(3), 0)
    # Two steps a pass, one of which has the broken view.
    assert metrics["skipped_value_steps"] == 2.0
    assert critic.values(views(3)).isfinite().all()


@pytest.mark.parametrize("sees", SEES)
def test_weights_and_order_follow_the_seed_and_no_other_generator(policies, sees):
    state = torch.random.get_rng_state()
    asking = views(7, seed=1)
    first, same, other = (
        learned(policies, sees, seed=n, batch=5).values(asking).tolist() for n in (0, 0, 1)
    )
    assert first == same != other
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize("sees", SEES)
def test_a_loaded_state_goes_on_bit_for_bit(policies, sees):
    critic, asking, targets = learned(policies, sees), views(8, seed=2), torch.linspace(0, 1, 8)
    loaded = Critic(policies, tuple(policies), sees=sees, learning_rate=0.01, seed=5)
    loaded.load_state_dict(copy.deepcopy(critic.state_dict()))
    loaded._seed = critic._seed
    for each in (critic, loaded):
        each.learn(asking, each.values(asking), targets, 3)
    assert torch.equal(critic.values(asking), loaded.values(asking))


@pytest.mark.parametrize(
    "settings",
    [{"width": 0}, {"epochs": 1.5}, {"batch": True}, {"learning_rate": 0.0}],
)
def test_settings_out_of_range_are_refused(policies, settings):
    with pytest.raises(SettingError, match=f"learner.critic.{next(iter(settings))}"):
        Critic(policies, tuple(policies), **settings)


def test_an_unknown_view_is_refused(policies):
    with pytest.raises(UnknownNameError, match="'all'"):
        Critic(policies, tuple(policies), sees="all")

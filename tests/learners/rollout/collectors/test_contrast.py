"""Refill of groups without contrast, in a game whose tasks say who earns what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv

from laconic.envs.errors import SettingError
from laconic.learners.episode import Group
from laconic.learners.interfaces import Reply, Request
from laconic.learners.prices.schedule import Fixed, PassRate, Price
from laconic.learners.prices.steering import TargetTokens
from laconic.learners.rollout.collectors.base import Players
from laconic.learners.rollout.collectors.contrast import DynamicSampling, check_steering
from laconic.learners.rollout.collectors.counterfactual import collector_for
from laconic.learners.rollout.play import Start, collect


class Game(ParallelEnv):
    """One agent, one word: mixed tasks pay for `yes`, easy ones for any word, hard ones never."""

    metadata = {"name": "game_v0"}

    def __init__(self, *tasks: str) -> None:
        self.possible_agents = ["a_0"]
        self.tasks = dict.fromkeys(tasks)
        self.played: list[str] = []

    def observation_space(self, agent: str) -> spaces.Space:
        return spaces.Text(100)

    def action_space(self, agent: str) -> spaces.Space:
        return spaces.Text(100)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None):
        self.agents = ["a_0"]
        self.task = (options or {})["task"]
        self.played.append(self.task)
        return {"a_0": self.task}, {"a_0": {"task": self.task}}

    def step(self, actions: dict[str, str]):
        self.agents = []
        pays = {"mixed": actions["a_0"] == "yes", "easy": True, "hard": False}
        reward = float(pays[self.task.partition("_")[0]])
        return {"a_0": ""}, {"a_0": reward}, {"a_0": True}, {"a_0": False}, {"a_0": {}}


class Alternating:
    """Says yes and no in turn."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        return [Reply(("yes", "no")[place % 2]) for place, _ in enumerate(requests)]


def has_contrast(group: Group) -> bool:
    return len({episode.returns["a_0"] for episode in group.episodes}) > 1


class Comparing:
    """A learner that compares groups, and charges `price`."""

    def __init__(self, price: Price | None = None) -> None:
        self.price = price or Fixed()
        self.has_contrast = has_contrast


def play(
    tasks: str, starts: str, extra: int, rank: int = 0, count: int = 1
) -> tuple[list[str], DynamicSampling, set[str]]:
    """Return the tasks of the groups, the collector and all tasks that were played."""
    games, collector = [Game(*tasks.split()), Game(), Game(), Game()], DynamicSampling(extra)
    collector.bind(Comparing(), rank, count)
    # Two episodes of a group are asked together, so one says yes and the other no.
    players = Players(games, {"a_0": Alternating()})
    groups = collector(*players, [Start(1, key) for key in starts.split()], 2, seed=3)
    return [group.task for group in groups], collector, {x for game in games for x in game.played}


def test_further_groups_are_charged_like_the_others() -> None:
    games, collector = [Game("easy_0", "mixed_0"), Game()], DynamicSampling(1)
    collector.bind(Comparing())
    players = Players(games, {"a_0": Alternating()})
    (group,) = collector(*players, [Start(1, "easy_0", price_share=0.3)], 2, seed=3)
    assert group.task == "mixed_0"
    assert [episode.price_share for episode in group.episodes] == [0.3, 0.3]


def counts(collector: DynamicSampling) -> tuple[float, float]:
    return collector.metrics["extra_groups"], collector.metrics["refilled_groups"]


def test_groups_in_which_all_earned_the_same_are_replaced_by_other_tasks() -> None:
    # easy_0 and hard_0 are flat; only two other tasks are left, and both have contrast.
    tasks, collector, _ = play(
        "easy_0 mixed_0 hard_0 mixed_1 mixed_2", "easy_0 mixed_0 hard_0", extra=16
    )
    assert tasks[1] == "mixed_0" and {tasks[0], tasks[2]} == {"mixed_1", "mixed_2"}
    assert counts(collector) == (2.0, 2.0)


def test_no_more_are_played_than_allowed_and_flat_groups_stay() -> None:
    # Two of the three hard tasks that are left are played, in vain.
    tasks, collector, _ = play("easy_0 hard_0 hard_1 hard_2 hard_3", "easy_0 hard_0", extra=2)
    assert tasks == ["easy_0", "hard_0"] and counts(collector) == (2.0, 0.0)


def test_it_goes_on_until_enough_have_contrast() -> None:
    # One flat group. Whatever is drawn first, mixed_1 is drawn at last: after none, one or two.
    tasks, collector, _ = play("easy_0 hard_1 hard_2 mixed_1", "easy_0", extra=16)
    assert tasks == ["mixed_1"]
    played, refilled = counts(collector)
    assert refilled == 1.0 and 1.0 <= played <= 3.0


def test_without_further_tasks_it_ends() -> None:
    tasks, collector, _ = play("easy_0 hard_0 mixed_0", "easy_0 hard_0", extra=16)
    assert sorted(tasks) in (["easy_0", "mixed_0"], ["hard_0", "mixed_0"])
    assert counts(collector) == (1.0, 1.0)


def test_with_contrast_everywhere_nothing_else_is_played() -> None:
    collector = DynamicSampling(4)
    collector.bind(Comparing())
    players = Players([Game("mixed_0", "mixed_1"), Game()], {"a_0": Alternating()})
    starts = [Start(1, "mixed_0")]
    groups = collector(*players, starts, 2, seed=3)
    assert groups == collect(*players, starts, 2, seed=3) and counts(collector) == (0.0, 0.0)


def test_equal_seeds_give_equal_groups() -> None:
    arguments = ("easy_0 hard_0 " + " ".join(f"mixed_{i}" for i in range(9)), "easy_0 hard_0", 9)
    assert play(*arguments)[0] == play(*arguments)[0]


def test_processes_share_the_further_groups_and_draw_different_tasks() -> None:
    # Of three further groups, process 0 plays two and process 1 one.
    tasks = "easy_0 easy_1 easy_2 " + " ".join(f"hard_{i}" for i in range(8))
    drawn = []
    for rank, share in ((0, 2.0), (1, 1.0)):
        _, collector, played = play(tasks, "easy_0 easy_1 easy_2", 3, rank, 2)
        assert counts(collector) == (share, 0.0)
        drawn.append({task for task in played if task.startswith("hard")})
    assert [len(each) for each in drawn] == [2, 1] and drawn[0].isdisjoint(drawn[1])


def test_a_learner_that_compares_nothing_is_refused() -> None:
    with pytest.raises(SettingError, match="compares no groups"):
        DynamicSampling().bind(None)
    with pytest.raises(SettingError, match="compares no groups"):
        DynamicSampling()([Game("easy_0")], {"a_0": Alternating()}, [Start(1, "easy_0")], 2, seed=1)


@pytest.mark.parametrize("extra", [0, -1, 1.5, True, None])
def test_a_number_out_of_range_is_refused(extra: object) -> None:
    with pytest.raises(SettingError, match="collect.extra must be a whole number of at least 1"):
        DynamicSampling(extra)  # type: ignore[arg-type]


def test_replays_and_steered_prices_do_not_go_with_it() -> None:
    with pytest.raises(SettingError, match="learner.credit=silence replays episodes"):
        collector_for(DynamicSampling(), "silence", "episode")
    assert isinstance(collector_for(DynamicSampling(), "own", "episode"), DynamicSampling)
    DynamicSampling().bind(Comparing(Fixed()))
    DynamicSampling().bind(Comparing(PassRate()))
    with pytest.raises(SettingError, match="TargetTokens"):
        DynamicSampling().bind(Comparing(TargetTokens()))
    with pytest.raises(SettingError, match="TargetTokens"):
        check_steering(TargetTokens())

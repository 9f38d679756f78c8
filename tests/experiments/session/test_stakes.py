"""What an episode costs and earns under each credit, and what silence earns."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from door_game import Players, door

from laconic.experiments.session.stakes import (
    Charging,
    Mute,
    charging_of,
    price_sentence,
    silence_earns,
    stakes,
)
from laconic.learners.episode import Episode
from laconic.learners.interfaces import Reply
from laconic.learners.metrics import summarize
from laconic.learners.rollout.play import Start

PAIR = ("a_0", "b_0")


def episode(
    solved: bool = True,
    bills: tuple[float, float] = (0.3, 0.1),
    paid: tuple[float, float] | None = None,
    **facts,
) -> Episode:
    """Return an episode of one round in which two agents say 30 and 10 tokens."""
    task = (float(solved), float(solved)) if paid is None else paid
    return Episode(
        task="t",
        turns=(),
        rewards={agent: (t - b,) for agent, t, b in zip(PAIR, task, bills, strict=True)},
        task_rewards={agent: (t,) for agent, t in zip(PAIR, task, strict=True)},
        bills={agent: (b,) for agent, b in zip(PAIR, bills, strict=True)},
        tokens_said={"a_0": 30, "b_0": 10},
        solved=solved,
        **{"common": True, **facts},
    )


def sentence(
    charging: Charging, *episodes: Episode, silence: float = 0.0, share: float = 1.0
) -> str:
    figures = {**summarize(episodes), **stakes(episodes, charging), "silence_earns": silence}
    return price_sentence(figures, charging, share)


@pytest.mark.parametrize(
    ("charging", "said"),
    [
        # Bills of 1.6 are 0.8 an agent, of which a quarter is charged.
        (Charging("own", 2.0), "is charged 0.20 for its own now and 0.80 at the full price, and"),
        (Charging("rank", 2.0), "is charged 0.20 for its own now and 0.80 at the full price, and"),
        (Charging("team", 2.0), "is charged 0.40 for those of all now and 1.60 at the full price"),
        (Charging("outcome", 1.0), "is charged 0.40 for those of all now and 1.60 at the full"),
        (Charging("own", 2.0, team=True), "is charged 0.40 for those of all now and 1.60 at"),
        # A message is compared with silence by what the team's bill differs, which it enters once.
        (Charging("silence", 2.0, team=True), "is charged 0.20 for its own now and 0.80 at the"),
    ],
)
def test_an_agent_compares_what_its_credit_charges(charging, said) -> None:
    charge = "team" if charging.team else "own"
    pair = [episode(solved, (1.2, 0.4), charge=charge) for solved in (True, False)]
    line = sentence(charging, *pair, share=0.25)
    assert line.startswith("An episode says 40 tokens: an agent ") and said in line
    # Half of the episodes are solved: 0.5 ** 2 of 1.6 is less than they earn, half of it is more.
    assert ("silence would earn more" in line) == (charging.power == 1.0)


@pytest.mark.parametrize(
    ("credit", "said"),
    [
        ("shapley", "is charged 0.20 for its own, and earns the part that its words"),
        ("", "is charged 0.20 for its own, and earns 0.50; a silent team earns 0.00."),
    ],
)
def test_a_fixed_price_is_said_once(credit, said) -> None:
    assert said in sentence(Charging(credit), episode(True), episode(False))


def test_the_bills_of_all_can_exceed_what_the_team_earns_though_those_of_one_do_not() -> None:
    # Two agents of 0.8 and 0.6 for a reward of 1: 0.7 each, 1.4 together; 40 / 1.4 = 28.6 tokens.
    line = sentence(Charging("own"), episode(bills=(0.8, 0.6)))
    assert line == (
        "An episode says 40 tokens: an agent is charged 0.70 for its own, and earns 1.00"
        " (learner.credit=own); a silent team earns 0.00. The words of all are charged 1.40, so"
        " silence would earn more until 29 tokens are enough (env.reward.price)."
    )


def test_a_price_that_follows_is_judged_at_the_pass_rate_that_was_seen() -> None:
    # Four fifths are solved, and the bills at the full price are 1.6: 0.64 x 1.6 = 1.024.
    # They bring 0.8, so 40 x 0.8 / 1.024 = 31.25 tokens pay.
    five = [episode(solved, (1.2, 0.4)) for solved in (True, True, True, True, False)]
    line = sentence(Charging("own", 2.0), *five, share=0.25)
    assert line.endswith(
        "At a pass rate of 80% the words of all are charged 1.02, so silence would earn more until"
        " 31 tokens are enough (env.reward.price)."
    )


def test_another_price_is_judged_at_what_is_charged_now() -> None:
    # Nothing of the bills of 1.6 is charged yet, or half of them, for a reward of 1.
    free = sentence(Charging("own"), episode(bills=(1.2, 0.4)), share=0.0)
    assert "is charged 0.00 for its own now and 0.80 at the full price" in free
    assert "silence would earn more" not in free
    dear = sentence(Charging("own"), episode(bills=(1.2, 1.2)), share=0.5)
    assert "The words of all are charged 1.20, so silence would earn more until 33 tokens" in dear


def test_what_silence_earns_is_taken_off() -> None:
    # Each agent earns its own gain, 2 and 1, and all of them 2.5 in silence: the words add 0.5.
    # No rate of success, so the charge is whole: 0.8; 40 x 0.5 / 0.8 = 25 tokens.
    own_gains = episode(bills=(0.5, 0.3), paid=(2.0, 1.0), common=False)
    line = sentence(Charging("own", 2.0), own_gains, silence=2.5)
    assert "is charged 0.40 for its own, and earns 1.50" in line
    assert "a silent team earns 2.50. At a pass rate of 100% the words of all are charged" in line
    unjudged = sentence(Charging("own", 2.0), replace(own_gains, solved=None), silence=2.5)
    assert "a silent team earns 2.50. The words of all are charged 0.80" in unjudged
    assert "until 25 tokens are enough" in line
    # Where the words add nothing, no number of them is few enough.
    line = sentence(Charging("team"), own_gains, silence=3.5)
    assert line.endswith("so silence would earn more (env.reward.price).")


def test_a_graded_task_passes_by_the_part_that_it_pays() -> None:
    # 2 of at most 4 is a pass rate of 0.5, though nothing is solved; 0.5 x 6 = 3 is more than 2.
    graded = episode(False, (4.0, 2.0), paid=(2.0, 2.0), graded=True, max_reward=4.0)
    line = sentence(Charging("team", 1.0), graded)
    assert "and earns 2.00" in line
    assert "At a pass rate of 50% the words of all are charged 3.00" in line


def test_a_silent_team_that_plays_rounds_earns_less_than_nothing() -> None:
    # Four rounds in silence cost 0.4; the team earns 0.8 in two: its words bring 1.2.
    timed = episode(bills=(1.0, 0.3), paid=(0.8, 0.8))
    line = sentence(Charging("own"), timed, silence=-0.4)
    assert "and earns 0.80 (learner.credit=own); a silent team earns -0.40." in line
    # 40 x 1.2 / 1.3 = 36.9 tokens.
    assert line.endswith("silence would earn more until 37 tokens are enough (env.reward.price).")


def test_what_silence_earns_is_measured_with_the_price_of_time() -> None:
    environments = [door()]
    policies = dict.fromkeys(environments[0].possible_agents, Players())
    run: Any = SimpleNamespace(
        environments=environments,
        starts=[Start(0)],
        policies=policies,
        by_main=lambda function: function(),
    )
    assert silence_earns(run) == pytest.approx(-0.4)


def test_only_solved_episodes_are_charged_where_the_environment_says_so() -> None:
    # Bills of 0.4 in one episode of two.
    pair = [episode(solved, when="solved") for solved in (True, False)]
    assert stakes(pair, Charging("team"))["agent_charge"] == pytest.approx(0.2)


def test_a_team_that_solves_little_gets_a_warning() -> None:
    line = sentence(Charging("own", 2.0), episode(False))
    assert line.endswith("too few solved episodes to learn from.")


def test_free_tokens_and_unknown_bills_need_no_sentence() -> None:
    assert sentence(Charging("own", 2.0), episode(bills=(0.0, 0.0))) == ""
    unbilled = Episode(task="t", turns=(), rewards={"a_0": (1.0,)})
    assert stakes([unbilled], Charging("own", 2.0)) == {} == stakes([], Charging())
    assert price_sentence({}, Charging("own", 2.0)) == ""


def test_the_charging_is_read_from_a_configuration_and_doubts_it() -> None:
    price = {"_target_": "laconic.learners.prices.schedule.PassRate", "power": 2}
    settings = {
        "learner": {"credit": "team", "price": price},
        "env": {"reward": {"charge": "team"}},
    }
    assert charging_of(settings) == Charging("team", 2.0, True)
    price["_target_"] = "laconic.learners.prices.schedule.Fixed"
    assert charging_of(settings) == Charging("team", 0.0, True)
    strange = {"credit": ["own"], "price": {"_target_": 3, "power": "much"}}
    assert charging_of({"learner": strange, "env": 3}) == Charging()


def test_a_muted_agent_still_acts() -> None:
    class Talks:
        def reply(self, requests, *, seed, greedy):
            return [Reply("Let us all take ten.\n> catch 10"), Reply("Only words.")]

    replies = Mute(Talks()).reply((), seed=0, greedy=True)
    assert [reply.message for reply in replies] == ["> catch 10", ""]

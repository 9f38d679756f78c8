"""Credit assignment: what each agent is paid for, and what it is charged for, in each round.

A credit splits an agent's pay into two numbers per round, both in reward units: the task part T
(what the task paid) and the cost C (what the words cost at `env.reward.price / normalizer`). It
never mixes them, so one token costs the same under every credit. The learner weighs C by the
charge factor (`charge_factor`) and compares X = T - w C.

    credit            T                                        C
    own               own task reward                          own bill (charge=team: all bills)
    team, outcome     task reward if all are paid alike,       sum of bills
                      else the sum over agents
    silence, shapley  difference of the team's T               difference of the team's C

The credits are pure functions of one episode; they know neither groups nor tokens. `silence` and
`shapley` are counterfactual: a collector measures them by replays (`learners.rollout.collectors`),
and a learner adds that collector by itself. With `env.reward.when=solved`, C is 0 in episodes that
were not solved. An environment that does not report bills counts as unpriced: T is its reward.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.episode import Episode, Parts

Rounds = tuple[float, ...]
"""One number per round of an episode, in reward units."""


@dataclass(frozen=True, slots=True)
class Credits:
    """What a credit assigns to the agents of one episode."""

    task: Mapping[str, Rounds]
    """Task part T of each agent, (rounds,) reward units."""
    cost: Mapping[str, Rounds]
    """Cost C of each agent, (rounds,) reward units; at least 0 unless it is a difference."""


Credit = Callable[[Episode], Credits]
"""Episode -> task part and cost of each agent in each round."""


def own(episode: Episode) -> Credits:
    """Pay every agent its own task reward and charge it as the environment says.

    That is its own bill, or the bills of all agents under `env.reward.charge=team`.
    """
    task, bills = task_rewards(episode), _payable_bills(episode)
    if episode.charge == "team":
        total = _sum_by_round(list(bills.values()))
        bills = {agent: total[: len(task[agent])] for agent in task}
    return Credits(task, {agent: bills.get(agent, ()) or _zeros(task[agent]) for agent in task})


def team(episode: Episode) -> Credits:
    """Pay and charge every agent what the team as a whole earns and says, round by round.

    Where the task pays all agents alike (`env.metadata["reward"] == "common"`), that reward counts
    once; otherwise T is the sum over agents. An agent whose rewards end early counts with 0
    afterwards.
    """
    task, bills = task_rewards(episode), _payable_bills(episode)
    paid = _longest(list(task.values())) if episode.common else _sum_by_round(list(task.values()))
    cost = _sum_by_round(list(bills.values())) or _zeros(paid)
    return Credits(dict.fromkeys(task, paid), dict.fromkeys(task, cost))


def outcome(episode: Episode) -> Credits:
    """Pay and charge every agent the team's whole episode in the last round.

    The return from any reply on is then the same for all replies of an episode (Dr. MAS, arXiv
    2602.08847: every call of an agent carries the reward of the whole trajectory).
    """
    credits = team(episode)
    return Credits(
        {agent: _at_the_end(each) for agent, each in credits.task.items()},
        {agent: _at_the_end(each) for agent, each in credits.cost.items()},
    )


def counterfactual(episode: Episode) -> Credits:
    """Pay and charge every message the difference it made (`Turn.credit`), as measured.

    Both parts are 0 for silence and where an agent had no turn. What came of a message later is in
    them already: see `WHOLE`.

    Raises:
        SettingError: a turn was not measured.
    """
    task = {agent: [0.0] * len(rewards) for agent, rewards in episode.rewards.items()}
    cost = {agent: [0.0] * len(rewards) for agent, rewards in episode.rewards.items()}
    for turn in episode.turns:
        if turn.credit is None:
            raise SettingError(
                "learner.credit=silence and learner.credit=shapley need every message measured, and"
                f" that of {turn.agent!r} in round {turn.round} of task {episode.task!r} was not"
                " measured; let learner.collect play the episodes, or choose learner.credit=own"
            )
        if turn.agent in task:
            task[turn.agent][turn.round], cost[turn.agent][turn.round] = turn.credit
    return Credits(
        {agent: tuple(each) for agent, each in task.items()},
        {agent: tuple(each) for agent, each in cost.items()},
    )


CREDITS: Mapping[str, Credit] = MappingProxyType(
    {
        "own": own,
        "team": team,
        "outcome": outcome,
        "silence": counterfactual,
        "shapley": counterfactual,
    }
)
"""The kinds of credit by the name a config uses."""
WHOLE: tuple[Credit, ...] = (counterfactual,)
"""Kinds whose credit of a round holds what came of it later: a single reply is credited with its
round alone and not with the rounds after it too."""


def credit(kind: str) -> Credit:
    """Look up a kind of credit by its name in `CREDITS`.

    Raises:
        UnknownNameError: there is no such kind.
    """
    if kind not in CREDITS:
        raise UnknownNameError("learner.credit", kind, CREDITS)
    return CREDITS[kind]


def task_rewards(episode: Episode) -> Mapping[str, Rounds]:
    """Return what the task paid each agent in each round.

    That is the plain reward where the environment does not report the task reward apart.
    """
    return episode.task_rewards or episode.rewards


def team_parts(episode: Episode) -> Parts:
    """Return the task part and the cost of a whole episode for the team; 0 and 0 without agents."""
    credits = team(episode)
    if not credits.task:
        return Parts(0.0, 0.0)
    agent = next(iter(credits.task))
    return Parts(float(sum(credits.task[agent])), float(sum(credits.cost[agent])))


def pass_rate(episodes: Sequence[Episode]) -> float:
    """Return q, how well the compared episodes did, 0 to 1.

    It is the share of solved episodes where a task is passed or failed, the mean of the task reward
    over `max_reward` where it is graded (a `max_reward` other than 1), and 1 where the environment
    does not say what was solved or pays every agent a gain of its own.
    """
    rates = [_pass(episode) for episode in episodes]
    return sum(rates) / len(rates) if rates else 1.0


def charge_factor(episodes: Sequence[Episode], power: float) -> float:
    """Return w = q ** power, by which the costs of a group of episodes are weighed.

    Power 0 charges always, 1 in proportion to the pass rate, 2 by its square. A group in which
    nothing was solved feels no price; one in which everything was solved feels all of it.

    Raises:
        SettingError: only solved episodes pay, so that failing would be charged twice.
    """
    if power == 0:
        return 1.0
    if any(episode.when == "solved" for episode in episodes):
        raise SettingError(
            "learner.charge_power above 0 charges a group by its pass rate, and"
            " env.reward.when=solved charges its solved episodes alone, which together charge twice"
            f" for failing; got learner.charge_power={power:g}: set it to 0, or"
            " env.reward.when=always"
        )
    return float(pass_rate(episodes) ** power)


def _pass(episode: Episode) -> float:
    if episode.solved is None or not episode.common:
        return 1.0
    if episode.max_reward == 1.0:
        return float(episode.solved)
    return min(max(team_parts(episode).task / episode.max_reward, 0.0), 1.0)


def _payable_bills(episode: Episode) -> Mapping[str, Rounds]:
    """Bills of each agent, (rounds,); 0 where only solved episodes pay and this one did not."""
    if episode.when == "solved" and not episode.solved:
        return {agent: _zeros(bills) for agent, bills in episode.bills.items()}
    return episode.bills


def _sum_by_round(rows: Sequence[Rounds]) -> Rounds:
    """Add rows of different lengths up, round by round."""
    rounds = max(map(len, rows), default=0)
    return tuple(sum(row[index] for row in rows if index < len(row)) for index in range(rounds))


def _longest(rows: Sequence[Rounds]) -> Rounds:
    return max(rows, key=len, default=())


def _zeros(rounds: Rounds) -> Rounds:
    return (0.0,) * len(rounds)


def _at_the_end(rounds: Rounds) -> Rounds:
    return (*_zeros(rounds[1:]), sum(rounds)) if rounds else ()

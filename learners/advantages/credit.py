"""Credit assignment: the pay and the charge of each agent in each round.

A credit splits an agent's pay into two numbers per round, in reward units: the task part T and the
cost C of its words at price / normalizer. It never mixes them, so one token costs the same under
every credit. The learner compares X = T - C. C counts the part of the bills that the price schedule
charges in this update (`Episode.price_share`).

    credit            T                                        C
    own               own task reward                          own bill (charge=team: all bills)
    team, outcome     task reward if all are paid alike,       sum of bills
                      else the sum over agents
    silence, shapley  difference of the team's T               difference of the team's C
    rank              local reward + weight x the team's T     as `own`

Credits are pure functions of one episode; they know neither groups nor tokens. `rank` alone takes
its weights from the group (`OF_GROUP`). `silence` and `shapley` are counterfactual: a collector
measures them by replays (`learners.rollout.collectors`), and a learner adds that collector by
itself. A price of time (`env.reward.round_price`) is off T already, so a message that ends an
episode earlier is paid for the rounds it saves. With `env.reward.when=solved`, C is 0 in episodes
that were not solved. An environment that reports no bills counts as unpriced: T is its reward.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from statistics import fmean
from types import MappingProxyType

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.episode import Episode, Parts

Rounds = tuple[float, ...]
"""(rounds,) numbers of one agent in one episode, reward units."""


@dataclass(frozen=True, slots=True)
class Credits:
    """Credit of the agents of one episode."""

    task: Mapping[str, Rounds]
    """Task part T of each agent, (rounds,) reward units."""
    cost: Mapping[str, Rounds]
    """Cost C of each agent, (rounds,) reward units; at least 0 unless it is a difference."""


Credit = Callable[[Episode], Credits]
"""Function from an episode to task part and cost of each agent in each round."""


def own(episode: Episode) -> Credits:
    """Pay each agent its own task reward, and charge it as the environment says.

    The charge is its own bill, or the bills of all agents under `env.reward.charge=team`.
    """
    task, bills = episode.task_rewards or episode.rewards, _payable_bills(episode)
    if episode.charge == "team":
        total = _sum_by_round(list(bills.values()))
        bills = {agent: total[: len(task[agent])] for agent in task}
    return Credits(task, {agent: bills.get(agent, ()) or _zeros(task[agent]) for agent in task})


def team(episode: Episode) -> Credits:
    """Give each agent the task reward and the bill of the whole team, round by round.

    If the task pays all agents alike (`env.metadata["reward"] == "common"`), that reward counts
    once; otherwise T is the sum over agents. An agent whose rewards end early adds 0 afterwards.
    """
    task, bills = episode.task_rewards or episode.rewards, _payable_bills(episode)
    rewards = list(task.values())
    paid = max(rewards, key=len, default=()) if episode.common else _sum_by_round(rewards)
    cost = _sum_by_round(list(bills.values())) or _zeros(paid)
    return Credits(dict.fromkeys(task, paid), dict.fromkeys(task, cost))


def outcome(episode: Episode) -> Credits:
    """Pay and charge each agent the team's whole episode in the last round.

    All replies of an episode then have the same return, as in Dr. MAS (arXiv 2602.08847), where
    each call of an agent carries the reward of the whole trajectory.
    """
    credits = team(episode)
    return Credits(
        {agent: _at_the_end(rounds) for agent, rounds in credits.task.items()},
        {agent: _at_the_end(rounds) for agent, rounds in credits.cost.items()},
    )


def counterfactual(episode: Episode) -> Credits:
    """Pay and charge each message the difference it made, as measured (`Turn.credit`).

    Both parts are 0 for silence and where an agent had no turn. They include the consequences of
    the message in later rounds: see `FORWARD_LOOKING`.

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
        {agent: tuple(rounds) for agent, rounds in task.items()},
        {agent: tuple(rounds) for agent, rounds in cost.items()},
    )


def rank(episode: Episode, weights: Mapping[str, float] | None = None) -> Credits:
    """Pay each agent its local reward and the team's by a weight, and charge it as `own` does.

    The local reward is 1 if the agent spoke when it was informed and was silent when it was not;
    over several turns the mean. It is 0 where the environment does not say who is informed.

    Source: CoMAM (arXiv 2603.12631), from a summary; the local reward and the cost are ours.

    Args:
        episode: episode to credit.
        weights: weight of the team's task reward for each agent (`rank_weights`); None: 1 each.
    """
    paid, local = team(episode).task, local_rewards(episode)
    weights = dict.fromkeys(paid, 1.0) if weights is None else weights
    task = {
        agent: tuple(
            alone + weights[agent] * together
            for alone, together in zip(local[agent], rounds, strict=True)
        )
        for agent, rounds in paid.items()
    }
    return Credits(task, own(episode).cost)


def local_rewards(episode: Episode) -> dict[str, Rounds]:
    """Return the local reward of each agent in each round; those of an episode sum to 0 to 1."""
    rewards = {agent: [0.0] * len(rounds) for agent, rounds in team(episode).task.items()}
    judged = [turn for turn in episode.turns if turn.informed is not None and turn.agent in rewards]
    turns = Counter(turn.agent for turn in judged)
    for turn in judged:
        if bool(turn.message) == turn.informed:
            rewards[turn.agent][turn.round] += 1 / turns[turn.agent]
    return {agent: tuple(rounds) for agent, rounds in rewards.items()}


def rank_weights(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return the weight of the team's task reward for each agent of a group; their mean is 1.

    An agent's weight grows with the agreement of two rankings of the episodes, by its local reward
    and by the team's task reward: it is its `ndcg` over the mean of all agents'. So a token costs
    as much of the team's reward as under other credits, on average over agents.
    """
    gains = [team_parts(episode).task for episode in episodes]
    lowest = min(0.0, *gains)
    local = [local_rewards(episode) for episode in episodes]
    agreement = {
        agent: ndcg([sum(each.get(agent, ())) for each in local], [gain - lowest for gain in gains])
        for agent in dict.fromkeys(agent for each in local for agent in each)
    }
    mean = fmean(agreement.values()) if agreement else 1.0
    return {agent: value / mean for agent, value in agreement.items()}


def ndcg(scores: Sequence[float], gains: Sequence[float]) -> float:
    """Return the normalized discounted cumulative gain of a ranking, above 0 and at most 1.

    The item of rank k, from 1, counts its gain / log2(k + 1). The sum is divided by that of the
    best ranking. Items of equal score share the mean discount of their ranks.

    Args:
        scores: (items,) ranked from high to low; differences below 1e-9 are ties.
        gains: (items,) of at least 0. If all are 0, every ranking is the best.
    """
    discounts = [1 / math.log2(place + 2) for place in range(len(gains))]
    best = math.fsum(map(math.prod, zip(sorted(gains, reverse=True), discounts, strict=True)))
    if best == 0:
        return 1.0
    ranked = sorted(zip(scores, gains, strict=True), key=lambda item: -item[0])
    total, start = 0.0, 0
    for _, tied in groupby(ranked, key=lambda item: round(item[0], 9)):
        tied_gains = [gain for _, gain in tied]
        end = start + len(tied_gains)
        total += math.fsum(tied_gains) * fmean(discounts[start:end])
        start = end
    return total / best


CREDITS: Mapping[str, Credit] = MappingProxyType(
    {
        "own": own,
        "team": team,
        "outcome": outcome,
        "silence": counterfactual,
        "shapley": counterfactual,
        "rank": rank,
    }
)
"""Credits by their name in a config."""
OF_GROUP: Mapping[Credit, Callable[[Sequence[Episode]], Credit]] = MappingProxyType(
    {rank: lambda episodes: partial(rank, weights=rank_weights(episodes))}
)
"""Credits that depend on the group -> functions from its episodes to the credit of each."""


def for_group(credit: Credit, episodes: Sequence[Episode]) -> Credit:
    """Return the credit for the episodes of one group; `rank` takes its weights from them."""
    return OF_GROUP[credit](episodes) if credit in OF_GROUP else credit


FORWARD_LOOKING: tuple[Credit, ...] = (counterfactual,)
"""Credits of a round that already include later rounds. A single reply gets the credit of its own
round and not of the rounds after it too."""


def credit(kind: str) -> Credit:
    """Look up a credit by its name in `CREDITS`.

    Raises:
        UnknownNameError: there is no such credit.
    """
    if kind not in CREDITS:
        raise UnknownNameError("learner.credit", kind, CREDITS)
    return CREDITS[kind]


def team_parts(episode: Episode) -> Parts:
    """Return the team's task part and cost of a whole episode; 0 and 0 without agents."""
    credits = team(episode)
    if not credits.task:
        return Parts(0.0, 0.0)
    agent = next(iter(credits.task))
    return Parts(float(sum(credits.task[agent])), float(sum(credits.cost[agent])))


def pass_rate(episodes: Sequence[Episode]) -> float:
    """Return q, the mean success of episodes above luck, from 0 to 1.

    With the mean success r and the mean `chance` g of the episodes,

        q = max((r - g) / (1 - g), 0)

    because a team that guesses has said nothing that could be charged.
    An episode of a graded task counts its task reward over `max_reward`, so a price of time lowers
    it. Any other counts 1 if it was solved, however late and whatever time costs. Else it counts
    what it earned of `max_reward`, or 0 where the environment declares none: an environment of a
    user may pay what it likes. It counts 1 if the environment does not report whether it was
    solved, or pays each agent its own gain.
    """
    if not episodes:
        return 1.0
    rate = sum(map(_success, episodes)) / len(episodes)
    luck = sum(episode.chance for episode in episodes) / len(episodes)
    return max((rate - luck) / (1 - luck), 0.0)


def _success(episode: Episode) -> float:
    """Return the success of one episode, from 0 to 1."""
    if episode.solved is None or not episode.common:
        return 1.0
    if episode.max_reward is None or (episode.solved and not episode.graded):
        return float(episode.solved)
    return min(max(team_parts(episode).task / episode.max_reward, 0.0), 1.0)


def _payable_bills(episode: Episode) -> Mapping[str, Rounds]:
    """Return what each agent pays, (rounds,); 0 where only solved episodes pay and it failed."""
    share = 0.0 if episode.when == "solved" and not episode.solved else episode.price_share
    return {
        agent: tuple(share * bill for bill in rounds) for agent, rounds in episode.bills.items()
    }


def _sum_by_round(rows: Sequence[Rounds]) -> Rounds:
    """Add rows of different lengths, round by round."""
    rounds = max(map(len, rows), default=0)
    return tuple(sum(row[index] for row in rows if index < len(row)) for index in range(rounds))


def _zeros(rounds: Rounds) -> Rounds:
    return (0.0,) * len(rounds)


def _at_the_end(rounds: Rounds) -> Rounds:
    return (*_zeros(rounds[1:]), sum(rounds)) if rounds else ()

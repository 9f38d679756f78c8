"""What an episode costs and earns under the credit that acts, and what silence earns.

The credit decides what an agent sees of a price. Under `own` and `rank` it compares its own bill
with the reward, under the others the bills of all agents; `silence` and `shapley` charge a message
its own bill, more or less, and pay the difference that it makes. So the bill of a team can exceed
what it earns, although each of its agents gains by speaking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

from laconic.envs.worlds import World, split_act
from laconic.experiments.session.evaluation import EvaluationRun, Findings
from laconic.learners.advantages.credit import CREDITS, own, pass_rate, team_parts
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.episode import Episode
from laconic.learners.interfaces import Policy, Reply, Request
from laconic.learners.metrics import prefixed
from laconic.learners.rollout.play import play

SILENT_EPISODES = 16
"""Number of tasks on which a silent team shows what silence earns; games differ little by task."""
FEW_SOLVED = 0.1
"""Pass rate below which too few episodes are solved to learn from."""
_TEAM = ("team", "outcome")
"""Credits under which each agent pays the bills of all."""
_DIFFERENCES = ("silence", "shapley")
"""Credits that pay an agent the difference that its words make."""


@dataclass(frozen=True, slots=True)
class Charging:
    """Settings that decide what a token costs an agent."""

    credit: str = ""
    """Name of `learner.credit`. Empty for a learner without one, which sees the rewards of the
    environment, as under `own`."""
    power: float = 0.0
    """Power of the pass rate that the price follows (`learner.price.power`); 0: it follows none."""
    team: bool = False
    """True if the environment charges every agent the bills of all (`env.reward.charge=team`)."""

    @property
    def shared(self) -> bool:
        """True if an agent compares the bills of all agents, not its own."""
        return self.credit in _TEAM or (self.team and self.credit not in _DIFFERENCES)


def charging_of(settings: Mapping[str, Any]) -> Charging:
    """Return how a run charges, from its composed configuration."""
    credit = setting(settings, "learner.credit")
    follows = str(setting(settings, "learner.price._target_")).endswith(".PassRate")
    return Charging(
        credit if isinstance(credit, str) and credit in CREDITS else "",
        number_of(setting(settings, "learner.price.power")) if follows else 0.0,
        setting(settings, "env.reward.charge") == "team",
    )


def setting(settings: Mapping[str, Any], key: str) -> Any:
    """Return a setting by its dotted key; None if there is none."""
    value: Any = settings
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def number_of(value: Any) -> float:
    """Return a setting as a number; 0 if it is none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def measure(evaluation: EvaluationRun) -> Findings | None:
    """Measure the stakes of an evaluation; what silence earns only before training.

    None where the environment reports no bills.
    """
    charging = charging_of(evaluation.cfg)
    figures = stakes(evaluation.episodes, charging)
    if not figures:
        return None
    if evaluation.step == 0:
        figures["silence_earns"] = silence_earns(evaluation)
    return Findings(metrics=prefixed(figures, "eval/"))


def stakes(episodes: Sequence[Episode], charging: Charging) -> dict[str, float]:
    """Return what episodes cost and earn, reward units; empty without bills.

    Returns:
        `pass_rate`; `team_charge`, the charge of all agents' words; `agent_charge`, what one agent
        compares, and `agent_earns`, with what. Means over episodes and agents, charges at the
        price of the evaluation.
    """
    billed = [episode for episode in episodes if episode.bills]
    if not billed:
        return {}
    whole = [team_parts(episode) for episode in billed]
    alone = [own(episode).task for episode in billed]
    payers = [1 if charging.shared else len(paid) for paid in alone]
    agents = [sum(rounds) for paid in alone for rounds in paid.values()]
    own_reward = charging.credit in ("", "own")
    return {
        "pass_rate": pass_rate(billed),
        "team_charge": fmean(parts.cost for parts in whole),
        "agent_charge": fmean(
            parts.cost / count for parts, count in zip(whole, payers, strict=True)
        ),
        "agent_earns": fmean(agents) if own_reward else fmean(parts.task for parts in whole),
    }


class Mute:
    """Policy that acts as another one does and says nothing."""

    def __init__(self, policy: Policy) -> None:
        """Take the policy that acts."""
        self._policy = policy

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Reply with the acts alone."""
        replies = self._policy.reply(requests, seed=seed, greedy=greedy)
        return [replace(reply, message=split_act(reply.message)[1]) for reply in replies]


def silence_earns(evaluation: EvaluationRun) -> float:
    """Return the team's mean task reward if no agent says anything, reward units.

    In a game the agents still act, as their policies do; elsewhere words are all that they do.
    """
    environments, starts = evaluation.environments, evaluation.starts[:SILENT_EPISODES]
    if isinstance(getattr(environments[0], "world", None), World):
        policies: Mapping[str, Policy] = {
            agent: Mute(policy) for agent, policy in evaluation.policies.items()
        }
    else:
        policies = ScriptedTeam("silent").policies(environments[0])
    episodes = evaluation.by_main(
        partial(play, environments, policies, starts, seed=0, greedy=True)
    )
    return fmean(team_parts(episode).task for episode in episodes)


def price_sentence(figures: Mapping[str, float], charging: Charging, share: float = 1.0) -> str:
    """Describe what an episode costs and earns, and what silence earns.

    Args:
        figures: metrics of an evaluation, without a prefix, with those of `measure`.
        charging: how the run charges.
        share: part of the environment's price that is charged now.

    Returns:
        The sentence, and one more where silence would earn more or little is solved; empty if the
        environment reports no bills or tokens are free.
    """
    if "agent_charge" not in figures or not figures.get("billed", 0.0) > 0:
        return ""
    tokens, silence = figures.get("tokens_said", 0.0), figures.get("silence_earns", 0.0)
    rate, charge = figures["pass_rate"], figures["agent_charge"]
    whose = "those of all" if charging.shared else "its own"
    full = f" now and {charge:.2f} at the full price" if share != 1.0 else ""
    earns = "and earns"
    if charging.credit in _DIFFERENCES:
        earns = "and earns the part that its words make of"
    rule = f" (learner.credit={charging.credit})" if charging.credit else ""
    line = (
        f"An episode says {tokens:.0f} tokens: an agent is charged {share * charge:.2f} for"
        f" {whose}{full}, {earns} {figures['agent_earns']:.2f}{rule}; a silent team earns"
        f" {silence:.2f}."
    )
    team, of_all = figures["team_charge"], "The words of all"
    if charging.power:
        # The price that follows from this evaluation, not the guess of the first update.
        team *= rate**charging.power
        # Where nothing is solved or not, the rate is 1 by definition and says nothing.
        if "accuracy" in figures:
            above = " above luck" if rate < figures["accuracy"] - 0.005 else ""
            of_all = f"At a pass rate of {rate:.0%}{above} the words of all"
    else:
        team *= share
    gain = figures["task_reward"] - silence
    if team > gain:
        line += f" {of_all} are charged {team:.2f}, so silence would earn more"
        line += f" until {tokens * gain / team:.0f} tokens are enough" if gain > 0 else ""
        line += " (env.reward.price)."
    if rate < FEW_SOLVED:
        line += f" Fewer than {FEW_SOLVED:.0%} are solved: too few solved episodes to learn from."
    return line

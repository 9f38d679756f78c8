"""Metrics of a set of episodes, with 95 % intervals.

Each metric is a sum over episodes divided by a count over episodes: the number of episodes for a
mean, the number of turns for a share of turns. Both are multiplied by the weight of the episode
where these differ. Pure functions; knows no benchmark, step or file.

Proportions over episodes have the interval of E. B. Wilson (1927), "Probable inference, the law of
succession, and statistical inference". Others have the percentile bootstrap (B. Efron, 1979) over
whole episodes, because the turns of one episode are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laconic.envs.declarations import Metric
from laconic.envs.dialogue.roster import role_of
from laconic.envs.registry import metrics
from laconic.learners.advantages.credit import team_parts
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Usage
from laconic.packages import load, registered

COMPARED = (
    *("accuracy", "score", "reward", "tokens_said", "tokens_spent", "silence_rate"),
    *("silent_if_uninformed", "spoke_if_informed"),
)
"""Metrics whose outcomes by episode an evaluation keeps."""
RESAMPLES = 2000
"""Number of bootstrap resamples of an interval."""
Z95 = 1.959963984540054
"""Quantile 0.975 of the standard normal distribution."""
_DRAWS_AT_ONCE = 4_000_000

GLOSSARY: Mapping[str, str] = {
    "accuracy": "Share of episodes whose task was solved.",
    "score": "Task reward of an episode, before any price is taken off.",
    "reward": (
        "Earnings of the team in an episode: task reward less the bills of all agents, without"
        " bills where only solved episodes pay and this one is unsolved. (Mean return over agents"
        " where the environment reports no bills.)"
    ),
    "task_reward": "Task reward of the team in an episode, less the price of its rounds, if any.",
    "billed": "Cost of the words of all agents in an episode, at the present price.",
    "tokens_said": "Tokens that all agents together said in an episode.",
    "tokens_read": "Tokens that all agents together read in an episode.",
    "tokens_thought": "Tokens that all agents together thought in an episode before they spoke.",
    "silence_rate": "Share of all turns in which the agent said nothing.",
    "silent_if_uninformed": (
        "Informed silence, first half: share of the turns of agents with nothing useful to tell"
        " in which they kept silent. The higher the better."
    ),
    "spoke_if_informed": (
        "Informed silence, second half: share of the turns of agents with something useful and"
        " untold in which they spoke. The higher the better."
    ),
    "cut_rate": "Share of turns whose message was over budget and was cut.",
    "truncated_replies": "Share of turns whose reply was stopped by its limit before it ended.",
    "truncated_rate": "Share of episodes cut short: the episode budget was spent, or truncated.",
    "rounds": "Rounds an episode took.",
}
"""Meaning of each metric, in one or two sentences."""
MEASURES: Mapping[str, str] = {
    "facts_told": (
        "Share of the useful facts dealt among a team that their holders said word for word (case"
        " and white space aside), mean over episodes. The higher the better, but facts in other"
        " words do not count."
    ),
    "lost_rate": (
        "Share of an episode's messages, each counted for every listener, that the channel lost."
    ),
    "listeners": (
        "Agents that heard a message, mean over the messages of an episode before its last round,"
        " where messages have addresses or each listener costs."
    ),
    "unheard_rate": "Share of the same messages that no agent heard.",
    "distance_to_best": (
        "Reward of the best team that is known at these prices, less `reward`; below 0 if the team"
        " earns more. Exact where an evaluation plays all tasks."
    ),
}
"""Further metrics where facts are dealt, messages get lost, listeners are counted, or the best team
is known. Environments declare others (`envs.registry.metrics`)."""
THINKING: Mapping[str, str] = {
    "tokens_spent": "Tokens that all agents together said and thought in an episode.",
}
"""Further metrics where an environment counts thoughts, even where nobody thinks."""
ROLES: Mapping[str, str] = {
    "tokens_said/<role>": "Tokens that all agents of a role together said in an episode.",
}
"""Further metrics of teams of several roles."""
SPENDING: Mapping[str, str] = {
    "prompt_tokens": "Tokens that model servers read in an episode, by their own count.",
    "completion_tokens": "Tokens that model servers wrote in an episode, by their own count.",
    "calls": "Requests sent to model servers in an episode, repeated ones included.",
    "uncounted": "Answers of an episode for which a server reported no usage.",
    "cost": "Price of an episode's tokens, in the currency of the configured prices.",
    "withheld": (
        "Replies of an episode that a server withheld (content filter, refusal, tool call). They"
        " are played as silence, but the rates of silence leave them out."
    ),
    "uncharged": (
        "Tokens of an episode that agents wrote behind their silence word, where the environment"
        " takes no thoughts to charge them as."
    ),
}
"""Further metrics where a model server was asked (`agent=api`)."""
GROUP = "laconic.metrics"
"""Group of the entry points of further metrics, each a `FeatureMetrics` with the feature's name."""

_IN_PERCENT = frozenset(
    (
        *("accuracy", "silence_rate", "silent_if_uninformed", "spoke_if_informed", "cut_rate"),
        *("truncated_replies", "truncated_rate", "facts_told", "lost_rate", "unheard_rate"),
    )
)
_WORDS = {**GLOSSARY, **MEASURES, **THINKING, **SPENDING}
_SIGNED = ("score", "reward", "task_reward", "distance_to_best")
"""Metrics that may be below 0, because a task reward may."""


Column = tuple[str, NDArray[np.float64], NDArray[np.float64]]
"""Name of a metric with its sums and counts, (episodes,) each."""


@dataclass(frozen=True, slots=True)
class FeatureMetrics:
    """Metrics of a feature that adds data to turns (`Turn.extra`)."""

    metrics: Mapping[str, Metric]
    """Words and range of each metric, by name."""
    columns: Callable[[Sequence[Episode]], list[Column]]
    """Computes those that have data; asked where a turn has data of the feature."""


def bounds(name: str) -> tuple[float, float]:
    """Return the smallest and the largest value that a metric can have.

    A metric that nobody declares may have any value.
    """
    if (metric := metrics().get(name) or _metric_of_feature(name)) is not None:
        return metric.bounds
    known = name in _WORDS or name.startswith("tokens_said/")
    low = 0.0 if known and name not in _SIGNED else -math.inf
    return low, 1.0 if name in _IN_PERCENT else math.inf


def is_share(name: str) -> bool:
    """Return whether a metric is a share of something, from 0 to 1, which is shown in percent."""
    metric = metrics().get(name) or _metric_of_feature(name)
    return name in _IN_PERCENT or (metric is not None and metric.share)


def of_feature(name: str) -> FeatureMetrics:
    """Return what a feature with metrics registers."""
    return load(registered(GROUP)[name], FeatureMetrics)


def _metric_of_feature(name: str) -> Metric | None:
    """Return what a feature declares about a metric; None for any other metric."""
    if name in _WORDS or "/" in name:
        return None
    declared = (of_feature(feature).metrics for feature in registered(GROUP))
    found = next((each[name] for each in declared if name in each), None)
    # Asked last, because it imports all environments.
    return None if found is not None and name in metrics() else found


@dataclass(frozen=True, slots=True)
class Interval:
    """Mean with its 95 % interval."""

    mean: float
    """Mean."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""
    count: int
    """Number of episodes, turns or seeds behind the mean."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """A metric by episode: its figure is the sum of `sums` over the sum of `counts`."""

    sums: tuple[float, ...]
    """Sum of each episode: its value, or its turns that make up a share; (episodes,)."""
    counts: tuple[float, ...]
    """Count of each episode: 1, or its turns that count, 0 if it has none; (episodes,)."""


def summarize(episodes: Sequence[Episode]) -> dict[str, float]:
    """Compute the metrics of `GLOSSARY` over episodes of any tasks.

    Returns:
        Means by name of the metric. Metrics without data are missing: a share without turns, or
        something that the environment does not report. Further metrics follow where they apply:
        `MEASURES`, `THINKING`, `ROLES`, `SPENDING` and those of features. Empty without
        episodes.
    """
    return {name: float(sums.sum() / counts.sum()) for name, sums, counts in _columns(episodes)}


def describe_replies(groups: Sequence[Group]) -> dict[str, float]:
    """Describe the replies in groups of one policy version.

    Returns:
        `reply_tokens`, the mean length of replies with tokens, and `entropy`, that of their
        distributions in nats per token, estimated by the mean of -log p of the sampled tokens.
        Empty where no reply has tokens.
    """
    turns = [turn for group in groups for episode in group.episodes for turn in episode.turns]
    replies = [turn.behavior_logprobs for turn in turns if turn.reply_ids]
    tokens = sum(map(len, replies))
    if not tokens:
        return {}
    return {
        "reply_tokens": tokens / len(replies),
        "entropy": -sum(map(sum, replies)) / tokens,
    }


def intervals(episodes: Sequence[Episode], seed: int = 0) -> dict[str, Interval]:
    """Compute the metrics of `summarize` over independent plays with their 95 % intervals.

    A bootstrapped share of turns that is 0 or 1 in every episode gets the Wilson interval over its
    episodes instead, because no resample could leave that edge. For a single episode the interval
    is the value itself. Episodes whose weights add up to 1 play each of all tasks once, so their
    means have no interval over tasks: both ends are NaN.

    Args:
        episodes: independent plays of any tasks.
        seed: seed of the resampling.
    """
    columns = _columns(episodes)
    total = math.fsum(episode.weight for episode in episodes)
    if _are_weighted(episodes) and math.isclose(total, 1.0, rel_tol=1e-6):
        means = {name: float(sums.sum() / counts.sum()) for name, sums, counts in columns}
        return {
            name: Interval(mean, math.nan, math.nan, len(episodes)) for name, mean in means.items()
        }
    bootstrapped = [column for column in columns if column[0] not in _PROPORTIONS]
    ends = _bootstrap(bootstrapped, len(episodes), np.random.default_rng(seed))
    results = {}
    for name, sums, counts in columns:
        mean, total = float(sums.sum() / counts.sum()), int(counts.sum())
        if name in _PROPORTIONS:
            low, high = wilson(float(sums.sum()), total)
        elif mean in (0.0, 1.0) and (
            name in _SHARES or ((metric := _metric_of_feature(name)) is not None and metric.share)
        ):
            trials = int(np.count_nonzero(counts))
            low, high = wilson(mean * trials, trials)
        else:
            low, high = ends[name]
        results[name] = Interval(mean, low, high, total)
    return results


def outcomes(episodes: Sequence[Episode]) -> dict[str, Outcomes]:
    """Return the metrics that tables compare, by episode in the order of the episodes.

    Intervals over tasks and seeds, and paired changes, need them. Values are rounded to six digits
    behind the point.
    """
    return {
        name: Outcomes(*(tuple(round(value, 6) for value in map(float, column)) for column in pair))
        for name, *pair in _columns(episodes)
        if name in COMPARED
    }


def wilson(successes: float, count: float) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of the successes among independent trials.

    Both ends are within 0 to 1, which they are without trials. The number of trials need not be
    whole: dependent trials count as fewer independent ones. Source: R. G. Newcombe, "Two-sided
    confidence intervals for the single proportion" (1998), method 3.
    """
    if count == 0:
        return 0.0, 1.0
    share, z = float(successes) / count, Z95
    scale = 2 * (count + z**2)
    center = (2 * count * share + z**2) / scale
    half = z / scale * math.sqrt(4 * count * share * (1 - share) + z**2)
    low, high = max(center - half, 0.0), min(center + half, 1.0)
    return (low if share > 0 else 0.0), (high if share < 1 else 1.0)


def prefixed(metrics: Mapping[str, float], prefix: str) -> dict[str, float]:
    """Put a prefix before the name of each metric, as in `accuracy` -> `eval/accuracy`."""
    return {f"{prefix}{name}": value for name, value in metrics.items()}


def _reward(episode: Episode) -> float:
    """Return the team's task reward less all bills, or the mean return where none are reported."""
    if episode.bills:
        task, cost = team_parts(episode)
        return task - cost
    returns = episode.returns.values()
    return sum(returns) / len(returns) if returns else 0.0


def _task_reward(episode: Episode) -> float | None:
    return team_parts(episode).task if episode.bills else None


def _billed(episode: Episode) -> float | None:
    bills = episode.bills.values()
    return episode.price_share * sum(map(sum, bills)) if bills else None


def _tokens(counted: Mapping[str, int]) -> int | None:
    return sum(counted.values()) if counted else None


_PER_EPISODE: Mapping[str, Callable[[Episode], float | None]] = {
    "accuracy": lambda episode: episode.solved,
    "score": lambda episode: episode.score,
    "reward": _reward,
    "task_reward": _task_reward,
    "billed": _billed,
    "tokens_said": lambda episode: _tokens(episode.tokens_said),
    "tokens_read": lambda episode: _tokens(episode.tokens_read),
    "tokens_thought": lambda episode: _tokens(episode.tokens_thought),
    "truncated_rate": lambda episode: episode.cut_short,
    "rounds": lambda episode: max(map(len, episode.rewards.values()), default=0),
}
_PROPORTIONS = ("accuracy", "truncated_rate")


def _chosen(turn: Turn) -> bool:
    """Return whether the agent itself chose its message or silence."""
    return not (turn.usage and turn.usage.withheld)


# The turns that count, and those of them that make up the share.
_SHARES: Mapping[str, tuple[Callable[[Turn], bool], Callable[[Turn], bool]]] = {
    "silence_rate": (_chosen, lambda turn: not turn.message),
    "silent_if_uninformed": (
        lambda turn: turn.informed is False and _chosen(turn),
        lambda turn: not turn.message,
    ),
    "spoke_if_informed": (
        lambda turn: turn.informed is True and _chosen(turn),
        lambda turn: bool(turn.message),
    ),
    "cut_rate": (lambda turn: True, lambda turn: turn.cut),
    "truncated_replies": (lambda turn: True, lambda turn: turn.truncated),
}


def _columns(episodes: Sequence[Episode]) -> list[Column]:
    """Compute sums and counts of each metric with data, in the order of the glossary."""
    columns = []
    for name in GLOSSARY:
        if name in _PER_EPISODE:
            values = [_PER_EPISODE[name](episode) for episode in episodes]
            sums = [0.0 if value is None else float(value) for value in values]
            counts = [float(value is not None) for value in values]
        else:
            counted, share = _SHARES[name]
            turns = [[turn for turn in episode.turns if counted(turn)] for episode in episodes]
            sums = [float(sum(map(share, of_episode))) for of_episode in turns]
            counts = [float(len(of_episode)) for of_episode in turns]
        if sum(counts):
            columns.append((name, np.array(sums), np.array(counts)))
    others = (_measured, _thinking, _by_role, _spending, _of_features)
    columns += [column for further in others for column in further(episodes)]
    weights = np.array([episode.weight for episode in episodes])
    if not _are_weighted(episodes):
        return columns
    weights /= weights.mean()
    return [(name, weights * sums, weights * counts) for name, sums, counts in columns]


def _are_weighted(episodes: Sequence[Episode]) -> bool:
    """Return whether episodes have different weights, which those of all possible tasks have."""
    return len({episode.weight for episode in episodes}) > 1


def _measured(episodes: Sequence[Episode]) -> list[Column]:
    """Compute sums and counts of the environments' measures, over the episodes that have them."""
    names = dict.fromkeys(name for episode in episodes for name in episode.measures)
    by_name = {name: [episode.measures.get(name) for episode in episodes] for name in names}
    return [
        (
            name,
            np.array([value or 0.0 for value in values]),
            np.array([float(value is not None) for value in values]),
        )
        for name, values in by_name.items()
    ]


def _thinking(episodes: Sequence[Episode]) -> list[Column]:
    """Compute sums and counts of the tokens said and thought; none where thoughts do not count.

    Where nobody thinks they are the tokens said. A run would else have the metric in some of its
    steps only, because small weights write behind the silence word now and then.
    """
    if not any(episode.tokens_thought for episode in episodes):
        return []
    both = [[*each.tokens_said.values(), *each.tokens_thought.values()] for each in episodes]
    return [("tokens_spent", np.array(list(map(sum, both)), float), np.ones(len(episodes)))]


def _by_role(episodes: Sequence[Episode]) -> list[Column]:
    """Compute sums and counts of the tokens that each role said; none for a single role."""
    tokens_of: dict[str, list[float]] = {}
    for index, episode in enumerate(episodes):
        for agent, tokens in episode.tokens_said.items():
            tokens_of.setdefault(role_of(agent), [0.0] * len(episodes))[index] += tokens
    counts = np.array([float(bool(episode.tokens_said)) for episode in episodes])
    several = tokens_of if len(tokens_of) > 1 else {}
    return [(f"tokens_said/{role}", np.array(sums), counts) for role, sums in several.items()]


def _spending(episodes: Sequence[Episode]) -> list[Column]:
    """Compute sums and counts of the usage of servers; none if no agent asked one."""
    usages = [[turn.usage for turn in each.turns if turn.usage is not None] for each in episodes]
    if not any(usages):
        return []
    totals = [sum(of_episode, start=Usage()) for of_episode in usages]
    counts = np.ones(len(episodes))
    return [(n, np.array([float(getattr(t, n)) for t in totals]), counts) for n in SPENDING]


def _of_features(episodes: Sequence[Episode]) -> list[Column]:
    """Compute sums and counts of the metrics of features that added data to a turn."""
    names = {name for episode in episodes for turn in episode.turns for name in turn.extra}
    known = sorted(names & registered(GROUP).keys())
    return [column for name in known for column in of_feature(name).columns(episodes)]


def _bootstrap(
    columns: Sequence[Column], episodes: int, generator: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Compute the percentile intervals of all columns over the same resampled episodes."""
    if not columns:
        return {}
    sums = np.stack([column[1] for column in columns], axis=1)
    counts = np.stack([column[2] for column in columns], axis=1)
    blocks = []
    block = max(_DRAWS_AT_ONCE // episodes, 1)
    for start in range(0, RESAMPLES, block):
        weights = resample(min(block, RESAMPLES - start), episodes, generator)
        with np.errstate(invalid="ignore"):
            blocks.append((weights @ sums) / (weights @ counts))
    # A resample without any of the few episodes that have turns of a kind is NaN, and ignored.
    low, high = np.nanpercentile(np.concatenate(blocks), (2.5, 97.5), axis=0)
    return {name: (float(low[i]), float(high[i])) for i, (name, _, _) in enumerate(columns)}


def resample(resamples: int, episodes: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Draw how often each episode occurs, (resamples, episodes); every row sums to `episodes`."""
    indices = generator.integers(episodes, size=(resamples, episodes))
    indices += np.arange(resamples)[:, None] * episodes
    counts = np.bincount(indices.ravel(), minlength=resamples * episodes)
    return counts.reshape(resamples, episodes).astype(np.float64)

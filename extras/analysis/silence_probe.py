"""Measure whether a team reads information from silence.

The team plays again with every chosen silence shown as a lost message (`envs.dialogue.channel`).
`silence_reliance` is the drop in the share of solved tasks. It is 0 for a team that says everything
relevant in words, and positive for one that uses silence as a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from laconic.envs.checks import check_fields
from laconic.envs.dialogue.channel import Transmission
from laconic.envs.dialogue.option import option_of
from laconic.envs.errors import SettingError
from laconic.experiments.session.evaluation import EvaluationRun, Findings
from laconic.experiments.session.setup import Environments
from laconic.learners.episode import Episode
from laconic.learners.interfaces import Policy
from laconic.learners.metrics import RESAMPLES, Interval, resample
from laconic.learners.rollout.play import Start, play


@dataclass(frozen=True, slots=True)
class SilenceProbe:
    """Measures `silence_reliance` after a complete evaluation."""

    probe: bool = False
    """True to measure it, which plays all episodes twice."""

    def __post_init__(self) -> None:
        """Check the setting."""
        check_fields(self, "evaluation.after.silence_probe")

    def __call__(self, evaluation: EvaluationRun) -> Findings:
        """Play all episodes once more and return the figure."""
        if not self.probe or len(evaluation.episodes) < len(evaluation.starts):
            return Findings()
        cfg = evaluation.cfg
        settings = {"seed": cfg.seed, "greedy": cfg.evaluation.greedy}
        parts = evaluation.environments, evaluation.policies, evaluation.starts
        reliance = evaluation.by_main(
            lambda: silence_reliance(*parts, evaluation.episodes, **settings)
        )
        return Findings(figures={"silence_reliance": reliance})


def silence_reliance(
    environments: Environments,
    policies: Mapping[str, Policy],
    starts: Sequence[Start],
    episodes: Sequence[Episode],
    *,
    seed: int,
    greedy: bool,
) -> Interval:
    """Return the drop in the share of solved tasks if chosen silences look like lost messages.

    Args:
        environments: equal environments with a channel.
        policies: policy of each agent.
        starts: starts of the episodes.
        episodes: episodes as they were played without the probe.
        seed: seed of the sampling.
        greedy: True if policies take their most likely reply.

    Returns:
        Drop with its 95 % bootstrap interval over tasks.

    Raises:
        SettingError: the environment has no channel, or does not report which tasks are solved.
    """
    before = [option_of(environment, Transmission) for environment in environments]
    if None in before or any(episode.solved is None for episode in episodes):
        raise SettingError(
            "evaluation.probe_silence=true needs an environment with `env.channel` that reports"
            " `solved` (any of envs.make but commons and matrix); got"
            f" {type(environments[0]).__name__}"
        )
    channels = [option for option in before if option is not None]
    settings = [channel.settings for channel in channels]
    for channel in channels:
        channel.set(replace(channel.settings, mark=True, probe=True))
    try:
        probed = play(environments, policies, starts, seed=seed, greedy=greedy)
    finally:
        for channel, own in zip(channels, settings, strict=True):
            channel.set(own)
    drops = [
        float(bool(plain.solved)) - float(bool(probe.solved))
        for plain, probe in zip(episodes, probed, strict=True)
    ]
    samples = resample(RESAMPLES, len(drops), np.random.default_rng(0)) @ drops / len(drops)
    low, high = np.percentile(samples, (2.5, 97.5))
    return Interval(float(np.mean(drops)), float(low), float(high), len(drops))

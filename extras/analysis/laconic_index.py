"""How laconic a team is: the place of its tokens between the fewest that would do and many words.

0 is the frontier (`frontier.coded`, exact for `signal` and a lower bound elsewhere), 1 the verbose
script, each at the team's accuracy: the script in as many tasks as the team solves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.running.evaluation import EvaluationRun, Findings
from laconic.experiments.running.setup import Environments
from laconic.extras.analysis.frontier import Frontier, floors
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.episode import Episode
from laconic.learners.metrics import RESAMPLES, Interval, resample
from laconic.learners.rollout.play import Start, play

NAME = "laconic_index"
_SCRIPTED = 200
"""Tasks on which the verbose script is heard, at most."""


def after_evaluation(evaluation: EvaluationRun) -> Findings:
    """Measure the index after an evaluation, or of an entry that plays as configured."""
    cfg = evaluation.cfg
    if OmegaConf.select(cfg, "entry.shape", default="team") != "team":
        return Findings()
    # A task may be played several times.
    starts = evaluation.starts[:: cfg.evaluation.get("samples", 1)]

    def measure() -> dict[str, Interval]:
        return laconic_index(evaluation.environments, starts, evaluation.episodes)

    return Findings(figures=evaluation.by_main(measure))


def laconic_index(
    environments: Environments, starts: Sequence[Start], episodes: Sequence[Episode]
) -> dict[str, Interval]:
    """The index of a team over some episodes with its 95 % bootstrap interval, by its name.

    Empty where there is no frontier (`extras.analysis.frontier.floors`), or nothing was played or
    solved.
    """
    floor = floors(environments[0]).get("coded")
    counted = all(one.solved is not None and one.tokens_said for one in episodes)
    if floor is None or not episodes or not counted:
        return {}
    try:
        policies = ScriptedTeam("verbose").policies(environments[0])
    except SettingError:
        return {}
    wordy = play(environments, policies, starts[:_SCRIPTED], seed=0)
    verbose = float(np.mean([_tokens(one) for one in wordy]))
    told = np.array([(_tokens(one), float(bool(one.solved))) for one in episodes])
    tokens, solved = told.mean(axis=0)
    mean = index(tokens, solved, floor, verbose)
    weights = resample(RESAMPLES, len(told), np.random.default_rng(0))
    drawn = [index(said, share, floor, verbose) for said, share in weights @ told / len(told)]
    if not np.isfinite(mean):
        return {}
    low, high = np.nanpercentile(drawn, (2.5, 97.5))
    return {NAME: Interval(mean, float(low), float(high), len(told))}


def index(tokens: float, accuracy: float, floor: Frontier, verbose: float) -> float:
    """The index of a team that says so many tokens; NaN where it solves nothing."""
    least = floor.tokens(accuracy)
    most = accuracy * verbose
    return float((tokens - least) / (most - least)) if most > least else float("nan")


def _tokens(episode: Episode) -> int:
    return sum(episode.tokens_said.values())

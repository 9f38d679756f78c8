"""Which name is meant by one that does not exist: the new one of what was renamed, or the nearest.

To add a row to `RENAMES`, write `old: new` under its kind. A row holds for a whole name and for
everything below it (`learners.price` for `learners.price.Fixed`); the longest row wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

RENAMES: Mapping[str, Mapping[str, str]] = {
    # Keys of the configuration.
    "key": {
        "agent.dtype": "agent.precision",
        "agent.speech.generate_batch": "agent.speech.generate_tokens",
        "benchmark": "measure",
        "episodes_per_step": "train.tasks_per_step",
        "env.part": "env.split",
        "evaluation.part": "evaluation.split",
        "lr": "optimizer.lr",
        "max_reply_tokens": "agent.speech.max_reply_tokens",
        "others": "learner.collect.others",
        "output": "hydra.run.dir",
        "shape": "agent.shape",
        "steps": "train.steps",
        "teacher": "learner.collect.teacher",
        "learner.price.gain": "learner.price.integral_gain",
        "learner.price.most": "learner.price.max_price",
        "learner.price.proportional": "learner.price.proportional_gain",
    },
    # Names of metrics, without the `train/`, `eval/` or `learner/` before them.
    "metric": {},
    # Options of config groups, as `group/option`.
    "option": {},
    # Classes and functions that `_target_` names, without `laconic.` before them.
    "target": {
        "experiments.loggers": "experiments.tracking.loggers",
        "experiments.sweeping": "experiments.command_line.sweeping",
        "experiments.trackers": "experiments.tracking",
        "learners.actor_critic": "learners.algorithms.actor_critic",
        "learners.advantages.Advantages": "learners.advantages.group.Advantages",
        "learners.agents.api.ApiSpeech": "learners.agents.api.ApiSamplingSettings",
        "learners.agents.api.Limits": "learners.agents.api.RequestLimits",
        "learners.agents.hf.Speech": "learners.agents.hf.SamplingSettings",
        "learners.collectors": "learners.rollout.collectors",
        "learners.critic": "learners.algorithms.critic",
        "learners.objective": "learners.training.objective",
        "learners.price": "learners.prices.schedule",
        "learners.role_average": "learners.advantages.role_average",
        "learners.steering": "learners.prices.steering",
        "learners.update": "learners.algorithms.group",
    },
    # Programs.
    "program": {"benchmark": "measure-speed"},
}
"""Kind -> old name -> new name."""

PACKAGE = "laconic."
"""What the names of our modules begin with; until version 0.1 they began without it."""
PARTS = ("envs.", "learners.", "experiments.", "conf.")
"""The folders of the package."""


def renamed(kind: str, name: str) -> str | None:
    """What a name is called now; None where no row of the kind covers it.

    Args:
        kind: "key", "metric", "option", "target" or "program".
        name: what was typed.
    """
    bare = name.removeprefix(PACKAGE) if kind == "target" else name
    group, slash, metric = bare.rpartition("/") if kind == "metric" else ("", "", bare)
    new = group + slash + _replaced(metric, RENAMES[kind])
    if kind == "target" and new.startswith(PARTS):
        new = PACKAGE + new
    return None if new == name else new


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`; None when none is like it.

    The last parts of the two must be alike, because the parts before them are shared by many keys.
    """
    names = sorted(known)
    ends = sorted({one.rpartition(".")[2] for one in names})
    last = name.rpartition(".")[2]
    # One wrong letter of a short name weighs more.
    alike = get_close_matches(last, ends, n=len(ends) or 1, cutoff=0.65 if len(last) < 5 else 0.72)
    whole = [one for one in names if one.rpartition(".")[2] in alike]
    if close := get_close_matches(name, whole, n=1, cutoff=0.66):
        return close[0]
    close = get_close_matches(name.rpartition(".")[2], ends, n=1, cutoff=0.75)
    return next((one for one in names if one.rpartition(".")[2] in close), None)


def _replaced(name: str, rows: Mapping[str, str]) -> str:
    for old in sorted(rows, key=len, reverse=True):
        if re.match(rf"{re.escape(old)}(?=[./]|$)", name):
            return rows[old] + name[len(old) :]
    return name

"""Normalize rewards, so that environments compare: 0 is silence, 1 is the best known team.

    normalized = (reward - silent) / (best - silent), at least -1

`reward` is task reward less bills of greedy play, at the environment's price and always charged in
full, whatever a learner charged in training. `silent` is the same of the script that says nothing.
`best` is the largest reward that is known. It comes from the environment's closed form
(`best_reward`), from a frontier that a team can reach, or else from the best script. Where a script
is the best, a team may earn more, and scores above 1. A team that talks at any cost may earn any
loss, so that -1 bounds its weight in a mean.

Three worked examples:

- A benchmark with scripts (`gsm8k`, price 0.12 per 12 tokens). Silence solves nothing: 0. The best
  script solves all with 7 tokens billed: 1 - 0.07 = 0.93. A team that solves 80 % with 20 tokens
  earns 0.8 - 0.2 = 0.6, and scores 0.6 / 0.93 = 0.645.
- A world with a closed form (`jury`, price 0.12 per 2 words). Silence answers nothing: 0. Its best
  rule earns 0.797. A team that is right in 84.19 % with 3 words earns 0.8419 - 0.18 = 0.6619, and
  scores 0.6619 / 0.797 = 0.8305.
- A text that is paid by its marks (`tldr`, up to 2.98). Silence earns 0.2, and the best script 2.6
  less a bill of 0.2, so 2.4. A team with 1.9 less 0.6 earns 1.3: (1.3 - 0.2) / (2.4 - 0.2) = 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from laconic.envs.errors import SettingError

LOWEST = -1.0
"""Smallest normalized score."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Rewards of an environment that score 0 and 1."""

    silent: float
    """Reward of the silent script, reward units."""
    best: float
    """Largest reward that is known, reward units."""
    best_of: str
    """Name of the script that earns it, `closed form`, or the name of a frontier."""

    def normalized(self, reward: float) -> float:
        """Return the normalized score of a mean reward."""
        return max((reward - self.silent) / (self.best - self.silent), LOWEST)


def scale(environment: str, scripts: Mapping[str, float], further: Mapping[str, float]) -> Scale:
    """Return the scale of an environment.

    Args:
        environment: name for the error.
        scripts: name of a script -> its reward; `silent` is one of them.
        further: further rewards that teams can reach, by where they are known from.

    Raises:
        SettingError: the best known team earns no more than silence.
    """
    rewards = {**scripts, **further}
    best_of = max(rewards, key=lambda name: rewards[name])
    # Written so that NaN is refused too.
    if not rewards[best_of] > rewards["silent"]:
        raise SettingError(
            f"env={environment}: expected a team that earns more than silence at this price; the"
            f" best known earns {rewards[best_of]:.4g}, and silence {rewards['silent']:.4g}."
            " A score is not defined there; lower env.reward.price in the set"
        )
    return Scale(rewards["silent"], rewards[best_of], best_of)

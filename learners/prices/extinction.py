"""Notices silence extinction: nobody keeps silent any more, not even with nothing to say.

While a team is weak, silence of those who know something spoils episodes and is punished as such;
its word may die out before anybody finds out where it pays. What is never sampled is never learned,
and what hardly ever is seldom comes back. It is the mirror image of silence collapse
(`learners.prices.guard`). The guard reads metrics and warns; it changes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from laconic.envs.checks import number, whole


class ExtinctionGuard:
    """Watches how often agents with nothing useful to say keep silent in training steps.

    Warns once per extinction; again only after the mean has been above twice the threshold.

    Args:
        silence: warn when this mean share of their turns or less is silent, 0 up to 1.
        window: number of steps the mean is over, at least 1.
    """

    def __init__(self, silence: float = 0.05, window: int = 5) -> None:
        """Check the ranges (`SettingError`) and start without observations."""
        number("extinction_guard.silence", silence, lowest=0, highest=1)
        whole("extinction_guard.window", window, 1)
        self.silence, self.window = silence, window
        self._seen: deque[float] = deque(maxlen=window)
        self._extinct = False

    def observe(self, step: int, silence: float | None, price: float) -> str | None:
        """Take in one step.

        Args:
            step: the training step, for the words.
            silence: share of the turns of agents with nothing useful to tell in which they kept
                silent, 0 to 1; None where the environment does not say who has something.
            price: of a token. Where tokens are free, silence has nothing to earn.

        Returns:
            A warning in plain words when an extinction is first seen in a full window, else None.
        """
        if silence is None or price <= 0:
            return None
        self._seen.append(silence)
        mean = sum(self._seen) / len(self._seen)
        if mean > 2 * self.silence:
            self._extinct = False
        if len(self._seen) < self.window or mean > self.silence or self._extinct:
            return None
        self._extinct = True
        over = "the last step" if self.window == 1 else f"the last {self.window} steps"
        return (
            f"silence extinction at step {step}: over {over} agents with nothing useful to say kept"
            f" silent in {mean:.1%} of their turns, so that the team hardly finds out where silence"
            " pays. Try silence on balance (learner.balance_silence=true, where it is off), a lower"
            " optimizer.lr with learner.warmup_updates, or a start that keeps silent where it has"
            " nothing useful and speaks where it has (laconic warm-start, learner.collect.teacher)."
        )

    def state_dict(self) -> dict[str, Any]:
        """Everything a resumed run needs to warn as if it had never stopped; JSON can hold it."""
        return {"seen": list(self._seen), "extinct": self._extinct}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`; that of earlier versions is empty."""
        self._seen = deque(state.get("seen", ()), maxlen=self.window)
        self._extinct = bool(state.get("extinct", False))

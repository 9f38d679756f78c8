"""Notices silence collapse: the team falls silent and its accuracy falls with it.

A price on tokens is charged with certainty while the gain of a message shows only now and then, so
a weak team may learn that it earns more by saying nothing. Silence alone is no fault (a good team
is mostly silent); silence together with falling accuracy is. The guard reads metrics and warns; it
changes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from laconic.envs.checks import number, whole


class CollapseGuard:
    """Watches the silence rate and the accuracy of training steps.

    Warns once per collapse; again only after a whole window of observations without the signs, so
    that a rate which wavers around the threshold does not warn at every step.

    Args:
        silence: warn from this mean silence rate over the window on, above 0 and up to 1, where
            nobody knows who held something useful: much of that silence is as it should be.
        accuracy_drop: and at this fall of the mean accuracy from its best window, above 0 to 1; a
            team that never solved twice as much has fallen when half of its best is gone.
        window: number of observations the means are over, at least 1.
        silence_informed: in place of `silence` where it is known: the mean rate of silence among
            those who held something useful.
    """

    observed = "step"
    """What an observation is of, in a word."""

    def __init__(
        self,
        silence: float = 0.9,
        accuracy_drop: float = 0.1,
        window: int = 5,
        silence_informed: float = 0.5,
    ) -> None:
        """Check the ranges (`SettingError`) and start without observations."""
        number("guard.silence", silence, above=0, highest=1)
        number("guard.silence_informed", silence_informed, above=0, highest=1)
        number("guard.accuracy_drop", accuracy_drop, above=0, highest=1)
        whole("guard.window", window, 1)
        self.silence, self.silence_informed = silence, silence_informed
        self.accuracy_drop, self.window = accuracy_drop, window
        # Whether the silence it is told of is that of those who held something useful. The run sets
        # it before it tells, so that `observe` of a guard of one's own keeps its arguments.
        self.informed = False
        self._silences: deque[float] = deque(maxlen=window)
        self._accuracies: deque[float] = deque(maxlen=window)
        self._best: float | None = None
        self._best_step = 0
        self._collapsed = False
        self._calm = 0

    def observe(self, step: int, silence_rate: float, accuracy: float) -> str | None:
        """Take in one step.

        Args:
            step: the training step, for the words.
            silence_rate: share of turns without a message, 0 to 1; `silence_to_watch` picks it.
            accuracy: share of episodes solved, 0 to 1.

        Returns:
            A warning in plain words when a collapse is first seen in a full window, else None.
        """
        self._silences.append(silence_rate)
        self._accuracies.append(accuracy)
        if len(self._silences) < self.window:
            return None
        silent = sum(self._silences) / self.window
        accurate = sum(self._accuracies) / self.window
        if self._best is None or accurate > self._best:
            self._best, self._best_step = accurate, step
        # Means of equal decimals differ in their last bit, and a drop of exactly 0.1 is a drop.
        drop = min(self.accuracy_drop, self._best / 2)
        fallen = self._best > 0 and self._best - accurate >= drop - 1e-9
        highest = self.silence_informed if self.informed else self.silence
        if silent < highest - 1e-9 or not fallen:
            self._calm += 1
            self._collapsed = self._collapsed and self._calm < self.window
            return None
        known, self._collapsed, self._calm = self._collapsed, True, 0
        return None if known else self._words(step, silent, accurate)

    def state_dict(self) -> dict[str, Any]:
        """Everything a resumed run needs to warn as if it had never stopped; JSON can hold it."""
        return {
            "silences": list(self._silences),
            "accuracies": list(self._accuracies),
            "best": self._best,
            "best_step": self._best_step,
            "collapsed": self._collapsed,
            "calm": self._calm,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        self._silences = deque(state["silences"], maxlen=self.window)
        self._accuracies = deque(state["accuracies"], maxlen=self.window)
        self._best, self._best_step = state["best"], state["best_step"]
        self._collapsed, self._calm = state["collapsed"], state["calm"]

    def _words(self, step: int, silent: float, accurate: float) -> str:
        best = 0.0 if self._best is None else self._best
        turns = (
            "the turns in which it had something useful to say" if self.informed else "its turns"
        )
        one = self.observed
        over = f"the last {one}" if self.window == 1 else f"the last {self.window} {one}s"
        return (
            f"silence collapse at step {step}: over {over} the team kept silent in {silent:.0%} of"
            f" {turns} and solved {accurate:.0%} of its tasks, down from {best:.0%} around step"
            f" {self._best_step}. The price of tokens seems to outweigh what messages earn. Try a"
            " lower env.reward.price, a price that starts at 0 and rises slowly (learner.price),"
            " counterfactual credit (learner.credit=silence) or, of a team that solves little,"
            " charges in solved episodes alone (env.reward.when=solved)."
        )


class EvaluationGuard(CollapseGuard):
    """Watches evaluations in the same way, each by itself as they are of many episodes.

    A team may have fallen silent where it is greedy and not yet where it is sampled.

    Args:
        silence: this and the others as those of `CollapseGuard`.
        accuracy_drop: from the best evaluation.
        window: evaluations.
        silence_informed: where it is known who held something useful.
    """

    observed = "evaluation"

    def __init__(
        self,
        silence: float = 0.9,
        accuracy_drop: float = 0.1,
        window: int = 1,
        silence_informed: float = 0.5,
    ) -> None:
        """Check the ranges (`SettingError`) and start without observations."""
        super().__init__(silence, accuracy_drop, window, silence_informed)


def silence_to_watch(metrics: Mapping[str, float]) -> float:
    """The silence rate, 0 to 1, that tells a collapse best, out of `metrics.summarise`.

    An agent that always answers hides how silent the others are: with one solver and three mute
    helpers the silence rate of all turns is only 0.75. So where the environment says who holds
    something useful, this is the silence of those, and else that of all turns; 0 without turns.
    """
    if "spoke_if_informed" in metrics:
        return 1.0 - metrics["spoke_if_informed"]
    return metrics.get("silence_rate", 0.0)

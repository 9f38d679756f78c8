"""Kinds of rules about the rows of a run: silence collapse, extinction, entropy, streaks.

Two failures frame the field. *Silence collapse*: the team falls silent and its accuracy falls with
it. *Silence extinction*: no agent is silent any more, not even with nothing to say, so the team
cannot learn where silence pays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import ClassVar, Protocol

Row = Mapping[str, float]
"""Metrics of one step by their full names (`train/accuracy`)."""

SILENT, SILENT_INFORMED = 0.9, 0.5
"""Silence rates from which a team counts as silent: of all turns, and of the turns of agents with
something useful to say, where that is known."""
ACCURACY_DROP = 0.1
"""Fall of accuracy from its best that makes silence a collapse; half of the best if less."""
EXTINCT = 0.05
"""Share of silent turns among those with nothing useful to say, at which silence dies out."""
WINDOW = 5
"""Number of updates that a rule looks at."""
ENTROPY_LEFT, SOLVED = 0.1, 0.9
"""Share of the first entropy at which it has collapsed, unless this share of episodes is solved."""


class Rule(Protocol):
    """A rule of `Rules`, whose attributes without a leading underscore are its state."""

    def observe(self, step: int, row: Row) -> str | None:
        """Read one row; return a warning the first time that something is wrong."""
        ...

    def holds(self) -> bool:
        """Return whether what it warned of has not passed yet."""
        ...

    def figure(self) -> str:
        """Describe the last figures that it looked at; empty if it has not seen enough."""
        ...


class Guard:
    """A rule that ends a run where a setting is `stop`."""

    setting: ClassVar[str]
    """Config key of the setting: `stop` or `warn`."""
    reason: ClassVar[str]
    """Reason of the end, as it follows "because"."""


class Collapse:
    """Warns of silence collapse, by training steps or by evaluations.

    It warns once per collapse, and again only after a whole window without the signs, so that a
    rate that wavers around the threshold does not warn at every step. A team that never solved
    twice the drop has fallen when half of its best is gone.
    """

    def __init__(self, prefix: str = "train/", window: int = WINDOW) -> None:
        """Watch the metrics with a prefix, `train/` or `eval/`, over a window of rows."""
        self._prefix, self._window = prefix, window
        self.silences: list[float] = []
        self.accuracies: list[float] = []
        self.best: float | None = None
        self.best_step = 0
        self.least_silent = 1.0
        self.collapsed = False
        self.calm = 0

    def observe(self, step: int, row: Row) -> str | None:
        """Read one row; see `Rule`."""
        prefix = self._prefix
        metrics = {
            name.removeprefix(prefix): x for name, x in row.items() if name.startswith(prefix)
        }
        if "accuracy" not in metrics:
            return None
        informed = "spoke_if_informed" in metrics
        self.silences = [*self.silences, silence_to_watch(metrics)][-self._window :]
        self.accuracies = [*self.accuracies, metrics["accuracy"]][-self._window :]
        if len(self.silences) < self._window:
            return None
        silent = sum(self.silences) / self._window
        accurate = sum(self.accuracies) / self._window
        if self.best is None or accurate > self.best:
            self.best, self.best_step = accurate, step
        # An agent that acts and never speaks, alone in a world, loses nothing by silence.
        self.least_silent = min(self.least_silent, silent)
        spoke = self.least_silent < 1 - 1e-9
        # Means of equal decimals differ in their last bit, and a drop of exactly 0.1 is a drop.
        drop = min(ACCURACY_DROP, self.best / 2)
        fallen = spoke and self.best > 0 and self.best - accurate >= drop - 1e-9
        if silent < (SILENT_INFORMED if informed else SILENT) - 1e-9 or not fallen:
            self.calm += 1
            self.collapsed = self.collapsed and self.calm < self._window
            return None
        before, self.collapsed, self.calm = self.collapsed, True, 0
        return None if before else self._warning(step, silent, accurate, informed)

    def holds(self) -> bool:
        """Return whether the team is still silent; see `Rule`."""
        return self.collapsed

    def figure(self) -> str:
        """Describe silence and accuracy of the last window; see `Rule`."""
        if self.best is None:
            return ""
        kind = "updates" if self._prefix == "train/" else "evaluation"
        return (
            f"silence of those with something to say in the last {kind} {fmean(self.silences):.0%},"
            f" tasks solved {fmean(self.accuracies):.0%} (best {self.best:.0%})"
        )

    def _warning(self, step: int, silent: float, accurate: float, informed: bool) -> str:
        turns = "the turns in which it had something useful to say" if informed else "its turns"
        kind = "step" if self._prefix == "train/" else "evaluation"
        over = f"the last {kind}" if self._window == 1 else f"the last {self._window} {kind}s"
        return (
            f"silence collapse at step {step}: over {over} the team kept silent in {silent:.0%} of"
            f" {turns} and solved {accurate:.0%} of its tasks, down from {self.best or 0.0:.0%}"
            f" around step {self.best_step}. The price of tokens seems to outweigh what messages"
            " earn. Try a lower env.reward.price, a higher learner.price.power, or"
            " counterfactual credit (learner.credit=silence)."
        )


class Fall:
    """Warns where a figure has fallen from its level in the first updates.

    Means of `WINDOW` updates are compared, because sampled episodes are few. It warns again only
    after half of the fall was made good.
    """

    def __init__(self, name: str, least: Callable[[float], float], figure: str, text: str) -> None:
        """Watch a metric.

        Args:
            name: full name of the metric.
            least: returns the least fall that counts, for the level at first.
            figure: description of the means, in which {mean} and {start} are filled in.
            text: the warning, in which {step}, {rows}, {mean} and {start} are filled in.
        """
        self._name, self._least, self._figure, self._text = name, least, figure, text
        self.first: list[float] = []
        self.last: list[float] = []
        self.fallen = False

    def observe(self, step: int, row: Row) -> str | None:
        """Read one row; one without a finite figure is passed over. See `Rule`."""
        value = row.get(self._name, math.nan)
        # A mean with NaN is neither fallen nor back, so each row after it would warn anew.
        if not math.isfinite(value):
            return None
        if len(self.first) < WINDOW:
            self.first = [*self.first, value]
            return None
        self.last = [*self.last, value][-WINDOW:]
        start, mean = fmean(self.first), fmean(self.last)
        # A fall of exactly the least counts, whatever the last bit of a mean.
        least = self._least(start) - 1e-9
        before = self.fallen = self.fallen and start - mean >= least / 2
        if before or len(self.last) < WINDOW or start - mean < least:
            return None
        self.fallen = True
        return self._text.format(step=step, rows=WINDOW, mean=mean, start=start)

    def holds(self) -> bool:
        """Return whether the figure has not come back; see `Rule`."""
        return self.fallen

    def figure(self) -> str:
        """Describe the level of the last updates and of the first; see `Rule`."""
        if len(self.last) < WINDOW:
            return ""
        return self._figure.format(mean=fmean(self.last), start=fmean(self.first))


class BelowSilence:
    """Warns where a team is charged more than its words earn, and no longer gets nearer.

    A wordy team begins below silence and shortens its messages, which is no fault. So it warns only
    where the gap would outlast `PATIENCE` windows more at the pace of the last two, and only where
    the charge matters: a share of at least `MATTERS` both of the reward and beyond it.
    """

    PATIENCE, MATTERS = 10, 0.1

    def __init__(self) -> None:
        """Start without observations."""
        self.silence = 0.0
        self.earned: list[float] = []
        self.charged: list[float] = []
        self.below = False

    def observe(self, step: int, row: Row) -> str | None:
        """Read one row; the row before training says what silence earns. See `Rule`."""
        self.silence = row.get("eval/silence_earns", self.silence)
        if "train/billed" not in row or row.get("train/price", 0.0) <= 0:
            return None
        # Rows of earlier versions have a factor beside the price.
        factor = row.get("learner/charge_factor", 1.0)
        self.earned = [*self.earned, row["train/task_reward"]][-2 * WINDOW :]
        self.charged = [*self.charged, factor * row["train/billed"]][-2 * WINDOW :]
        if len(self.earned) < 2 * WINDOW:
            return None
        earned, charged, gap = self._means(-WINDOW, None)
        nearer = self._means(0, WINDOW)[2] - gap
        self.below = self.below and gap > 0
        matters = charged > self.MATTERS * earned and gap > self.MATTERS * charged
        if self.below or not matters or self.PATIENCE * nearer >= gap:
            return None
        self.below = True
        return (
            f"reward below silence at step {step}: over the last {WINDOW} updates an episode earned"
            f" {earned:.2f} and its words were charged {charged:.2f}; a silent team earns"
            f" {self.silence:.2f}. So the reward asks for silence."
            " Lower env.reward.price to what a brief team can pay"
        )

    def holds(self) -> bool:
        """Return whether the team is still below silence; see `Rule`."""
        return self.below

    def figure(self) -> str:
        """Describe earnings, charge and silence; see `Rule`."""
        if len(self.earned) < WINDOW:
            return ""
        earned, charged, _ = self._means(-WINDOW, None)
        return (
            f"an episode earns {earned:.2f} and is charged {charged:.2f}; a silent team earns"
            f" {self.silence:.2f}"
        )

    def _means(self, start: int, end: int | None) -> tuple[float, float, float]:
        """Return means of earnings and charge, and how far both together are below silence."""
        earned, charged = fmean(self.earned[start:end]), fmean(self.charged[start:end])
        return earned, charged, self.silence + charged - earned


class Extinction:
    """Warns of silence extinction; again only after silence was twice the threshold."""

    def __init__(self) -> None:
        """Start without observations."""
        self.silences: list[float] = []
        self.extinct = False

    def observe(self, step: int, row: Row) -> str | None:
        """Read one row; where tokens are free, silence has nothing to earn. See `Rule`."""
        silence = row.get("train/silent_if_uninformed")
        if silence is None or row.get("train/price", 0.0) <= 0:
            return None
        self.silences = [*self.silences, silence][-WINDOW:]
        mean = sum(self.silences) / len(self.silences)
        if mean > 2 * EXTINCT:
            self.extinct = False
        if len(self.silences) < WINDOW or mean > EXTINCT or self.extinct:
            return None
        self.extinct = True
        return (
            f"silence extinction at step {step}: over the last {WINDOW} steps agents with nothing"
            f" useful to say kept silent in {mean:.1%} of their turns, so the team hardly finds out"
            " where silence pays. Try learner.balance_silence=true, a lower optimizer.lr with"
            " learner.warmup_updates, or a start that keeps silent where it has nothing useful and"
            " speaks where it has (laconic warm-start, learner.collect.teacher)."
        )

    def holds(self) -> bool:
        """Return whether silence has not come back; see `Rule`."""
        return self.extinct

    def figure(self) -> str:
        """Describe the silence of the last window; see `Rule`."""
        if len(self.silences) < WINDOW:
            return ""
        return f"silence of those with nothing useful to say {fmean(self.silences):.1%}"


class EntropyCollapse:
    """Warns once sampling has become nearly deterministic before the tasks are solved.

    It warns again only after the entropy was twice the threshold.
    """

    def __init__(self) -> None:
        """Start without observations."""
        self.first: list[float] = []
        self.entropies: list[float] = []
        self.accuracies: list[float] = []
        self.collapsed = False

    def observe(self, step: int, row: Row) -> str | None:
        """Read one row; see `Rule`."""
        if "train/entropy" not in row or "train/accuracy" not in row:
            return None
        if len(self.first) < WINDOW:
            self.first = [*self.first, row["train/entropy"]]
        self.entropies = [*self.entropies, row["train/entropy"]][-WINDOW:]
        self.accuracies = [*self.accuracies, row["train/accuracy"]][-WINDOW:]
        mean, start, solved = fmean(self.entropies), fmean(self.first), fmean(self.accuracies)
        if mean > 2 * ENTROPY_LEFT * start:
            self.collapsed = False
        fallen = start > 0 and mean <= ENTROPY_LEFT * start and solved < SOLVED
        if len(self.entropies) < WINDOW or not fallen or self.collapsed:
            return None
        self.collapsed = True
        return (
            f"entropy collapse at step {step}: over the last {WINDOW} updates replies had an"
            f" entropy of {mean:.2g} nats a token, {mean / start:.0%} of that at the start, and"
            f" {solved:.0%} of the episodes were solved. The episodes of a group come out alike, so"
            " there is little left to compare. Try a lower optimizer.lr, a higher"
            " learner.objective.epsilon_high or agent.sampling.temperature, or a"
            " learner.objective.beta above 0"
        )

    def holds(self) -> bool:
        """Return whether the entropy has not come back; see `Rule`."""
        return self.collapsed

    def figure(self) -> str:
        """Describe the entropy of the last window and of the first; see `Rule`."""
        if len(self.entropies) < WINDOW:
            return ""
        return (
            f"entropy {fmean(self.entropies):.2g} nats a token (at the start"
            f" {fmean(self.first):.2g})"
        )


class Streak:
    """Warns once a figure is bad in several rows on end; again after as many rows without it."""

    def __init__(
        self,
        rows: int,
        measure: Callable[[Row], float | None],
        bad: Callable[[float], bool],
        figure: str,
        text: str,
    ) -> None:
        """Watch a figure.

        Args:
            rows: number of rows on end, at least 1.
            measure: returns the figure of a row; None if the row does not tell.
            bad: returns whether a figure is bad.
            figure: description of the mean of the last rows, in which {mean} is filled in.
            text: the warning, in which {step}, {rows} and {mean} are filled in.
        """
        self._rows, self._measure, self._bad = rows, measure, bad
        self._figure, self._text = figure, text
        self.length = self.calm = 0
        self.warned = False
        self.values: list[float] = []

    def observe(self, step: int, row: Row) -> str | None:
        """Read one row; see `Rule`."""
        value = self._measure(row)
        if value is None:
            return None
        self.values = [*self.values, value][-self._rows :]
        bad = self._bad(value)
        self.length = self.length + 1 if bad else 0
        self.calm = 0 if bad else self.calm + 1
        if self.calm >= self._rows:
            self.warned = False
        if self.warned or self.length < self._rows:
            return None
        self.warned = True
        return self._text.format(step=step, rows=self._rows, mean=fmean(self.values))

    def holds(self) -> bool:
        """Return whether the streak has not ended; see `Rule`."""
        return self.warned

    def figure(self) -> str:
        """Describe the mean of the last rows; see `Rule`."""
        return self._figure.format(mean=fmean(self.values)) if self.values else ""


def silence_to_watch(metrics: Mapping[str, float]) -> float:
    """Return the silence rate, 0 to 1, that shows a collapse best; 0 without turns.

    An agent that always answers hides how silent the others are: with one solver and three mute
    helpers the silence rate of all turns is only 0.75. So this is the silence of the agents that
    hold something useful, where the environment knows them, and otherwise that of all turns.

    Args:
        metrics: of `learners.metrics.summarize`, without a prefix.
    """
    if "spoke_if_informed" in metrics:
        return 1.0 - metrics["spoke_if_informed"]
    return metrics.get("silence_rate", 0.0)

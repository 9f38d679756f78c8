"""Judge a run by its metrics, and state the cost of an episode in one sentence.

A rule reads rows as `metrics.jsonl` has them and returns a warning in plain words. `Rules` reads
the rows of a training, running or finished. Two failures frame the field. *Silence collapse*: the
team falls silent and its accuracy falls with it. *Silence extinction*: no agent is silent any more,
not even with nothing to say, so the team cannot learn where silence pays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Row = Mapping[str, float]
"""Metrics of one step by their full names (`train/accuracy`)."""

SILENT, SILENT_INFORMED = 0.9, 0.5
"""Silence rates from which a team counts as silent: of all turns, and of the turns of agents with
something useful to say, where that is known."""
ACCURACY_DROP = 0.1
"""Fall of accuracy from its best that makes silence a collapse; half of the best if less."""
EXTINCT = 0.05
"""Share of silent turns among those with nothing useful to say, at which silence dies out."""
FEW_SOLVED = 0.1
"""Pass rate below which too few episodes are solved to learn from."""
WINDOW = 5
"""Number of updates that a rule looks at."""


@dataclass(frozen=True, slots=True)
class Context:
    """Facts about a run that its rows do not hold."""

    ratio: bool = True
    """True if the objective has an importance ratio."""
    charge_power: float | None = None
    """Value of `learner.charge_power`; None for a learner without it."""


class Rule(Protocol):
    """A rule of `Rules`, whose attributes without a leading underscore are its state."""

    def observe(self, step: int, row: Row) -> str | None:
        """Read one row; return a warning the first time that something is wrong."""
        ...


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
        # Means of equal decimals differ in their last bit, and a drop of exactly 0.1 is a drop.
        drop = min(ACCURACY_DROP, self.best / 2)
        fallen = self.best > 0 and self.best - accurate >= drop - 1e-9
        if silent < (SILENT_INFORMED if informed else SILENT) - 1e-9 or not fallen:
            self.calm += 1
            self.collapsed = self.collapsed and self.calm < self._window
            return None
        before, self.collapsed, self.calm = self.collapsed, True, 0
        return None if before else self._warning(step, silent, accurate, informed)

    def _warning(self, step: int, silent: float, accurate: float, informed: bool) -> str:
        turns = "the turns in which it had something useful to say" if informed else "its turns"
        kind = "step" if self._prefix == "train/" else "evaluation"
        over = f"the last {kind}" if self._window == 1 else f"the last {self._window} {kind}s"
        return (
            f"silence collapse at step {step}: over {over} the team kept silent in {silent:.0%} of"
            f" {turns} and solved {accurate:.0%} of its tasks, down from {self.best or 0.0:.0%}"
            f" around step {self.best_step}. The price of tokens seems to outweigh what messages"
            " earn. Try a lower env.reward.price, a higher learner.charge_power, a price that"
            " starts at 0 and rises slowly (learner/price=ramp), or counterfactual credit"
            " (learner.credit=silence)."
        )


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


class Streak:
    """Warns once a condition holds in several rows on end; again after as many rows without it."""

    def __init__(self, rows: int, holds: Callable[[Row], bool | None], text: str) -> None:
        """Watch a condition.

        Args:
            rows: number of rows on end, at least 1.
            holds: returns whether it holds in a row; None if the row does not tell.
            text: the warning, in which {step} and {rows} are filled in.
        """
        self._rows, self._holds, self._text = rows, holds, text
        self.length = self.calm = 0
        self.warned = False

    def observe(self, step: int, row: Row) -> str | None:
        """Read one row; see `Rule`."""
        holds = self._holds(row)
        if holds is None:
            return None
        self.length = self.length + 1 if holds else 0
        self.calm = 0 if holds else self.calm + 1
        if self.calm >= self._rows:
            self.warned = False
        if self.warned or self.length < self._rows:
            return None
        self.warned = True
        return self._text.format(step=step, rows=self._rows)


class Rules:
    """All rules that fit a run, over its rows."""

    def __init__(self, context: Context) -> None:
        """Start without observations."""
        self._rules = _rules(context)

    def observe(self, step: int, row: Row) -> list[str]:
        """Read the row of a step; return the warnings."""
        warnings = [rule.observe(step, row) for rule in self._rules.values()]
        return [warning for warning in warnings if warning]

    def state_dict(self) -> dict[str, Any]:
        """Return the state of every rule by its name, in types of JSON.

        A resumed run warns as one that never stopped.
        """
        return {
            name: {key: value for key, value in vars(rule).items() if key[0] != "_"}
            for name, rule in self._rules.items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`."""
        for name, rule in self._rules.items():
            vars(rule).update(state[name])


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


def price_sentence(evaluation: Mapping[str, float], context: Context, max_reward: float) -> str:
    """Describe the cost of an episode, its charge and its reward in one line.

    Args:
        evaluation: metrics of an evaluation (`learners.metrics.summarize`), without a prefix.
        context: facts about the run.
        max_reward: reward of one solved task, reward units.

    Returns:
        The line; empty if the environment reports no bills or tokens are free.
    """
    billed = evaluation.get("billed", 0.0)
    if not billed > 0:
        return ""
    earned = evaluation["task_reward"] / max_reward
    rate = min(max(evaluation["accuracy"] if max_reward == 1.0 else earned, 0.0), 1.0)
    cost = billed / max_reward
    tokens = evaluation.get("tokens_said", 0.0)
    line = f"An episode says {tokens:.0f} tokens, which cost {cost:.2f} of a solved task"
    if context.charge_power:
        charged = cost * rate**context.charge_power
        line += f". It is charged {charged:.2f} at the present pass rate of {rate:.0%}"
    else:
        charged = cost
        line += ", all of it charged"
    line += f", and earns {earned:.2f}."
    if charged > earned:
        line += (
            f" Saying nothing would earn more, until {tokens * earned / charged:.0f} tokens are"
            " enough (env.reward.price, learner.charge_power)."
        )
    if rate < FEW_SOLVED:
        line += f" Fewer than {FEW_SOLVED:.0%} are solved: too few solved episodes to learn from."
    return line


def _rules(context: Context) -> dict[str, Rule]:
    """Return the rules that fit a run, by name."""
    rules: dict[str, Rule] = {**_learning_rules(), **_charge_rules(context.charge_power)}
    return {**rules, **_ratio_rules()} if context.ratio else rules


def _learning_rules() -> dict[str, Rule]:
    """Return the rules on silence and on updates that learn nothing."""
    return {
        "collapse": Collapse(),
        "evaluation_collapse": Collapse("eval/", window=1),
        "extinction": Extinction(),
        "nothing_learned": Streak(
            3,
            _equals("learner/steps", 0.0),
            "step {step}: in the last {rows} updates no reply had a token to learn from, so no"
            " optimizer step was taken. learner.mask_truncated=true leaves out replies that"
            " agent.sampling.max_reply_tokens cuts: raise that number, or set the former to false",
        ),
        "no_contrast": Streak(
            WINDOW,
            _equals("learner/groups_without_contrast", 1.0),
            "step {step}: in the last {rows} updates all episodes of every group earned the same,"
            " so there was nothing to compare and nothing was learned. Try easier or harder tasks"
            " (env.generator), a larger train.group_size, or a higher agent.sampling.temperature",
        ),
        "few_solved": Streak(
            2 * WINDOW,
            _below("train/accuracy", FEW_SOLVED),
            f"step {{step}}: over the last {{rows}} updates less than {FEW_SOLVED:.0%} of the"
            " episodes were solved, which are too few to learn from. Start from a policy that knows"
            " the task (laconic warm-start), or take easier tasks (env.generator)",
        ),
        "skipped_steps": Streak(
            1,
            _above("learner/skipped_steps", 0.0),
            "step {step}: optimizer steps were skipped, because their loss or gradient was not"
            " finite; learner/skipped_steps counts them. Try a lower optimizer.lr",
        ),
        "coarse_weights": Streak(
            1,
            _below("learner/changed_weights", 0.5),
            "step {step}: the first update changed less than half of the weights that it had a"
            " gradient for; the others are too coarse for steps of this size. Take"
            " agent.precision=bfloat16_autocast (float32 weights), or a higher optimizer.lr",
        ),
    }


def _ratio_rules() -> dict[str, Rule]:
    """Return the rules on importance ratios and clips."""
    return {
        "ratio_is_one": Streak(
            3,
            _equals("learner/moved_fraction", 0.0),
            "step {step}: every importance ratio of the last {rows} updates is 1, so neither ratio"
            " nor clip acts: this is a group-relative policy gradient. Raise learner.minibatches if"
            " that is not what you want",
        ),
        "short_clips": Streak(
            2 * WINDOW,
            _only_short_are_clipped,
            "step {step}: in the last {rows} updates only replies of one or two tokens were"
            " clipped, so the clip slows silence down and bounds no message."
            " learner.objective.shortest with smaller clips acts on all lengths",
        ),
    }


def _charge_rules(charge_power: float | None) -> dict[str, Rule]:
    """Return the rules on the charge; with a `charge_power` the pass rate scales it."""
    if charge_power:
        return {
            "never_charged": Streak(
                2 * WINDOW,
                _never_charged,
                "step {step}: in the last {rows} updates less than 1% of the price was charged"
                " (learner/charge_factor), because so little is solved. A lower"
                " learner.charge_power charges more, and a better start earns more",
            ),
            "unpriced": Streak(
                1,
                _unpriced,
                "step {step}: this environment reports no bills (infos['billed'] and"
                " infos['task_reward']), so its reward counts as the task's and"
                " learner.charge_power charges nothing",
            ),
        }
    return {
        "price_above_pass_rate": Streak(
            WINDOW,
            _charged_more_than_earned,
            "step {step}: over the last {rows} updates the words of an episode cost more than it"
            " earned, so saying nothing pays better. Try a lower env.reward.price or"
            " learner.charge_power=2, which charges by the pass rate",
        ),
    }


def _equals(name: str, value: float) -> Callable[[Row], bool | None]:
    return lambda row: row[name] == value if name in row else None


def _below(name: str, bound: float) -> Callable[[Row], bool | None]:
    return lambda row: row[name] < bound if name in row else None


def _above(name: str, bound: float) -> Callable[[Row], bool | None]:
    return lambda row: row[name] > bound if name in row else None


def _only_short_are_clipped(row: Row) -> bool | None:
    """Return whether replies of one or two tokens were clipped and longer ones were not.

    None where a row has no longer replies.
    """
    prefix, short = "learner/clip_fraction/", "learner/clip_fraction/1-2"
    longer = [value for name, value in row.items() if name.startswith(prefix) and name != short]
    if short not in row or not longer:
        return None
    return row[short] > 0 and not any(longer)


def _never_charged(row: Row) -> bool | None:
    if "learner/charge_factor" not in row or row.get("train/price", 0.0) <= 0:
        return None
    return row["learner/charge_factor"] < 0.01


def _unpriced(row: Row) -> bool | None:
    return "train/billed" not in row if "train/reward" in row else None


def _charged_more_than_earned(row: Row) -> bool | None:
    if row.get("train/price", 0.0) <= 0 or "train/billed" not in row:
        return None
    return row["train/billed"] > row["train/task_reward"]

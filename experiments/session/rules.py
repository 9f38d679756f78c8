"""Judge a run by its metrics.

A rule reads rows as `metrics.jsonl` has them and returns a warning in plain words. `Rules` reads
the rows of a training: a running one for its live warnings, and a recorded one for
`laconic doctor`. `experiments.session.rule_kinds` has the kinds of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from laconic.experiments.session.rule_kinds import (
    WINDOW,
    BelowSilence,
    Collapse,
    EntropyCollapse,
    Extinction,
    Fall,
    Guard,
    Row,
    Rule,
    Streak,
)
from laconic.experiments.session.stakes import FEW_SOLVED, charging_of, number_of, setting
from laconic.packages import load, registered

GROUP = "laconic.rules"
"""Group of the entry points of further rules, which name a class without arguments."""
FAR_RATIO = 10.0
"""Importance ratio that is far from 1; so is 1 divided by it. 3,939 recorded
updates reached 8.1, in a run that collapsed, and 0.15."""
LESS_SPOKEN = 0.1
"""Fall of the share of informed turns that are spoken, from the first updates; recorded
trainings that kept their accuracy fell by at most 0.04."""
LESS_SOLVED, LEAST_LOST = 0.2, 0.05
"""Fall of sampled accuracy from the first updates, half of it for a weak team, but no less than the
second. Healthy trainings dip by 0.1 before they recover."""
LARGE_KL = 0.1
"""KL of an update that is an explosion, nats per token; those updates reach 0.096."""
LARGE_MISMATCH = 0.01
"""KL between engine and trainer that is too large, nats per token; bfloat16 alone gives 0.001."""
FLAT = "learner/groups_without_contrast"
"""Metric with the share of groups whose episodes all earned the same."""
NO_CONTRAST = (
    "step {step}: in the last {rows} updates all episodes of every group earned the same, so there"
    " was nothing to compare and nothing was learned. Try easier or harder tasks (env.generator), a"
    " larger train.group_size, a higher agent.sampling.temperature, or learner/collect=contrast,"
    " which plays other tasks instead"
)
"""Sentence on updates without contrast."""


@dataclass(frozen=True, slots=True)
class Context:
    """Facts about a run that its rows do not hold."""

    ratio: bool = True
    """True if the objective has an importance ratio."""
    follows: bool = False
    """True if the charge follows the pass rate (`learner/price=pass_rate`)."""
    only_solved: bool = False
    """True if only solved episodes are charged (`env.reward.when=solved`)."""
    price: float = 0.0
    """Price of the environment, `env.reward.price`; 0 if unknown."""
    round_price: float = 0.0
    """Price of a round, `env.reward.round_price`, reward units."""


def context_of(settings: Mapping[str, Any]) -> Context:
    """Return the settings of a run that the rules need, from its composed configuration."""
    ratio = setting(settings, "learner.objective.importance_sampling_level")
    # Ratios of tokens are measured for a loss of one's own too.
    ratio = ratio or (setting(settings, "learner.objective._target_") and "token")
    when = setting(settings, "env.reward.when")
    # Earlier versions charged a power of the pass rate of the group.
    former = number_of(setting(settings, "learner.charge_power"))
    return Context(
        ratio not in (None, "none"),
        charging_of(settings).power > 0 or former > 0,
        when == "solved",
        number_of(setting(settings, "env.reward.price")),
        number_of(setting(settings, "env.reward.round_price")),
    )


class Rules:
    """All rules that fit a run, over its rows."""

    def __init__(self, context: Context) -> None:
        """Start without observations."""
        self._rules = _rules(context)

    def observe(self, step: int, row: Row) -> list[str]:
        """Read the row of a step; return the warnings."""
        return list(self.judge(step, row).values())

    def judge(self, step: int, row: Row) -> dict[str, str]:
        """Read the row of a step; return the warnings by the name of their rule."""
        warnings = {name: rule.observe(step, row) for name, rule in self._rules.items()}
        return {name: warning for name, warning in warnings.items() if warning}

    def holding(self) -> set[str]:
        """Return the names of the rules whose warning has not passed yet."""
        return {name for name, rule in self._rules.items() if rule.holds()}

    def guards(self) -> dict[str, str]:
        """Return why rules would end the run now, by the setting that decides."""
        guards = (rule for rule in self._rules.values() if isinstance(rule, Guard) and rule.holds())
        return {guard.setting: guard.reason for guard in guards}

    def figures(self) -> list[str]:
        """Describe the figures that the rules looked at last, one line each."""
        return [figure for rule in self._rules.values() if (figure := rule.figure())]

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
            # A version with fewer rules wrote no state of the others.
            vars(rule).update(state.get(name, {}))


def _rules(context: Context) -> dict[str, Rule]:
    """Return the rules that fit a run, by name."""
    rules = {**_reply_rules(), **_learning_rules(), **_engine_rules(), **_charge_rules(context)}
    rules |= {name: load(point, type)() for name, point in registered(GROUP).items()}
    return {**rules, **_ratio_rules()} if context.ratio else rules


def _reply_rules() -> dict[str, Rule]:
    """Return the rules on what the sampled episodes look like."""
    return {
        "collapse": Collapse(),
        "evaluation_collapse": Collapse("eval/", window=1),
        "informed_silence": Fall(
            "train/spoke_if_informed",
            lambda start: LESS_SPOKEN,
            "turns in which agents with something useful spoke {mean:.0%} (at first {start:.0%})",
            "informed silence at step {step}: over the last {rows} updates agents with something"
            " useful to say spoke in {mean:.0%} of their turns, and in {start:.0%} at first. What"
            " they know gets lost, even where accuracy still holds. Try a lower env.reward.price or"
            " a higher learner.price.power",
        ),
        "lost_accuracy": Fall(
            "train/accuracy",
            lambda start: max(min(LESS_SOLVED, start / 2), LEAST_LOST),
            "episodes solved {mean:.0%} (at first {start:.0%})",
            "lost accuracy at step {step}: over the last {rows} updates {mean:.0%} of the episodes"
            " were solved, and {start:.0%} at first. Try a lower env.reward.price if messages"
            " became too short, a lower optimizer.lr, or a learner.objective.beta above 0",
        ),
        "extinction": Extinction(),
        "entropy_collapse": EntropyCollapse(),
        "few_solved": Streak(
            2 * WINDOW,
            _metric("train/accuracy"),
            _below(FEW_SOLVED),
            "episodes solved {mean:.0%}",
            "step {step}: over the last {rows} updates only {mean:.1%} of the episodes were solved,"
            " which are too few to learn from. Start from a policy that knows the task"
            " (laconic warm-start), or take easier tasks (env.generator)",
        ),
        "truncated_replies": Streak(
            WINDOW,
            _metric("train/truncated_replies"),
            _above(0.5),
            "replies stopped by their limit {mean:.0%}",
            "step {step}: over the last {rows} updates {mean:.0%} of the replies were stopped by"
            " their limit before they ended. Raise agent.sampling.max_reply_tokens;"
            " learner.mask_truncated=true leaves such replies out of the loss",
        ),
        "cut_messages": Streak(
            WINDOW,
            _metric("train/cut_rate"),
            _above(0.5),
            "messages cut at the budget {mean:.0%}",
            "step {step}: over the last {rows} updates {mean:.0%} of the messages were over budget"
            " and were cut, so the others did not read their ends. Raise env.budget.message (or"
            " agent, round), or lower agent.sampling.max_reply_tokens",
        ),
        "truncated_episodes": Streak(
            WINDOW,
            _metric("train/truncated_rate"),
            _above(0.5),
            "episodes cut short {mean:.0%}",
            "step {step}: over the last {rows} updates {mean:.0%} of the episodes were cut short."
            " Raise env.budget.episode, or lower env.rounds",
        ),
    }


def _learning_rules() -> dict[str, Rule]:
    """Return the rules on updates that learn nothing or too much."""
    return {
        "nothing_learned": Streak(
            3,
            _metric("learner/steps"),
            _equals(0.0),
            "optimizer steps an update {mean:.1f}",
            "step {step}: in the last {rows} updates no reply had a token to learn from, so no"
            " optimizer step was taken. learner.mask_truncated=true leaves out replies that"
            " agent.sampling.max_reply_tokens cuts: raise that number, or set the former to false",
        ),
        "no_contrast": Streak(
            WINDOW,
            _metric(FLAT),
            _equals(1.0),
            "groups without contrast {mean:.0%}",
            NO_CONTRAST,
        ),
        "skipped_steps": Streak(
            1,
            _metric("learner/skipped_steps"),
            _above(0.0),
            "optimizer steps skipped in the last update {mean:.0f}",
            "step {step}: {mean:.0f} optimizer steps were skipped, because their loss or gradient"
            " was not finite; learner/skipped_steps counts them. Try a lower optimizer.lr",
        ),
        "coarse_weights": Streak(
            1,
            _metric("learner/changed_weights"),
            _below(0.5),
            "weights that the first update changed {mean:.0%}",
            "step {step}: the first update changed only {mean:.0%} of the weights that it had a"
            " gradient for; the others are too coarse for steps of this size. Take"
            " agent.precision=bfloat16_autocast (float32 weights), or a higher optimizer.lr",
        ),
        "no_gradient": Streak(
            3,
            _gradient_with_contrast,
            _below(1e-8),
            "norm of the gradient {mean:.2g}",
            "step {step}: the gradient of the last {rows} updates vanished (norm {mean:.1g}),"
            " although their groups had contrast. Take agent.precision=bfloat16_autocast, and look"
            " whether learner.mask_truncated or learner.correction leaves all tokens out",
        ),
        "rate_is_zero": Streak(
            3,
            _metric("learner/learning_rate"),
            _equals(0.0),
            "learning rate {mean:.2g}",
            "step {step}: the learning rate of the last {rows} updates is 0, so the weights no"
            " longer change. Set learner.decay_updates to train.steps, or to null to keep the rate",
        ),
    }


def _engine_rules() -> dict[str, Rule]:
    """Return the rules on replies that an engine samples from another distribution."""
    return {
        "mismatch": Streak(
            3,
            _metric("learner/mismatch_kl"),
            _above(LARGE_MISMATCH),
            "KL between engine and trainer {mean:.2g} nats a token",
            "step {step}: over the last {rows} updates the engine sampled from another distribution"
            " than the one that is trained, {mean:.2g} nats a token apart (learner/mismatch_kl)."
            " Sample in the precision of agent.precision, lower engine.max_staleness, and keep"
            " learner.correction=auto",
        ),
        "masked": Streak(
            3,
            _metric("learner/masked_share"),
            _above(0.5),
            "tokens left out by the correction {mean:.0%}",
            "step {step}: over the last {rows} updates learner.correction left {mean:.0%} of the"
            " tokens out, because engine and trainer disagree on them (learner/mismatch_kl). Lower"
            " engine.max_staleness, or widen learner.correction_low and correction_high",
        ),
    }


def _ratio_rules() -> dict[str, Rule]:
    """Return the rules on importance ratios and clips."""
    return {
        "ratio_is_one": Streak(
            3,
            _metric("learner/moved_fraction"),
            _equals(0.0),
            "share of ratios that are not 1 {mean:.0%}",
            "step {step}: every importance ratio of the last {rows} updates is 1, so neither ratio"
            " nor clip acts: this is a group-relative policy gradient. Raise learner.minibatches if"
            " that is not what you want",
        ),
        "far_ratio": Streak(
            3,
            _farthest_ratio,
            _above(FAR_RATIO),
            "largest importance ratio, or 1 / the smallest, {mean:.3g}",
            "step {step}: in each of the last {rows} updates an importance ratio was further from 1"
            f" than a factor of {FAR_RATIO:.0f} ({{mean:.3g}} on average), so the clip removes most"
            " of what is learned. Try a lower optimizer.lr, fewer learner.minibatches, or"
            " learner.objective.shortest, which slows the ratio of short replies",
        ),
        "kl_explosion": Streak(
            3,
            _metric("learner/approx_kl"),
            _above(LARGE_KL),
            "KL of an update {mean:.2g} nats a token",
            "step {step}: the last {rows} updates moved the policy by {mean:.2g} nats a token each"
            " (learner/approx_kl), too far for their own samples. Try a lower optimizer.lr,"
            " learner.warmup_updates, or fewer learner.minibatches",
        ),
        "short_clips": Streak(
            2 * WINDOW,
            _only_short_are_clipped,
            _equals(1.0),
            "updates that clip replies of one or two tokens alone {mean:.0%}",
            "step {step}: in the last {rows} updates only replies of one or two tokens were"
            " clipped, so the clip slows silence down and bounds no message."
            " learner.objective.shortest with smaller clips acts on all lengths",
        ),
    }


def _charge_rules(context: Context) -> dict[str, Rule]:
    """Return the rules on the charge, which may follow the pass rate."""
    if context.follows:
        # At first a charge above the earnings is no fault here: it falls with the pass rate, and a
        # wordy team shortens its messages.
        return {
            "below_silence": BelowSilence(),
            "never_charged": Streak(
                2 * WINDOW,
                partial(_charged_share, context.price),
                _below(0.01),
                "charged share of the price {mean:.0%}",
                "step {step}: in the last {rows} updates {mean:.2%} of the price was charged"
                " (train/price), because so little is solved. A lower learner.price.power charges"
                " more, and a better start earns more",
            ),
            "unpriced": Streak(
                1,
                _unpriced,
                _equals(1.0),
                "",
                "step {step}: this environment reports no bills (infos['billed'] and"
                " infos['task_reward']), so its reward counts as the task's and learner/price"
                " charges nothing",
            ),
        }
    return {
        "price_above_pass_rate": Streak(
            WINDOW,
            partial(_charge_less_earnings, context),
            _above(0.0),
            "charge of an episode less what it earns {mean:+.2f}",
            "step {step}: over the last {rows} updates the words of an episode were charged"
            " {mean:.2f} more than it earned, so saying nothing pays better. Try a lower"
            " env.reward.price or learner/price=pass_rate",
        ),
    }


def _metric(name: str) -> Callable[[Row], float | None]:
    return lambda row: row.get(name)


def _equals(number: float) -> Callable[[float], bool]:
    return lambda value: value == number


def _below(bound: float) -> Callable[[float], bool]:
    return lambda value: value < bound


def _above(bound: float) -> Callable[[float], bool]:
    return lambda value: value > bound


def _gradient_with_contrast(row: Row) -> float | None:
    """Return the norm of the gradient; None if the groups gave nothing to learn."""
    flat = row.get(FLAT, 1.0) == 1.0
    return None if flat else row.get("learner/grad_norm")


def _farthest_ratio(row: Row) -> float | None:
    """Return how far the ratios are from 1 as a factor, at least 1."""
    smallest, largest = row.get("learner/ratio_min"), row.get("learner/ratio_max")
    if smallest is None or largest is None:
        return None
    return max(largest, 1 / max(smallest, 1e-9), 1.0)


def _only_short_are_clipped(row: Row) -> float | None:
    """Return 1 if replies of one or two tokens were clipped and longer ones were not, else 0.

    None where a row has no longer replies.
    """
    prefix, short = "learner/clip_fraction/", "learner/clip_fraction/1-2"
    longer = [value for name, value in row.items() if name.startswith(prefix) and name != short]
    if short not in row or not longer:
        return None
    return float(row[short] > 0 and not any(longer))


def _charged_share(full: float, row: Row) -> float | None:
    """Return the share of the environment's price that was charged; None if that is unknown or 0.

    Rows of earlier versions have a factor beside the price.
    """
    if not full > 0 or "train/price" not in row:
        return None
    return row["train/price"] / full * row.get("learner/charge_factor", 1.0)


def _unpriced(row: Row) -> float | None:
    return float("train/billed" not in row) if "train/reward" in row else None


def _charge_less_earnings(context: Context, row: Row) -> float | None:
    """Return what an episode is charged less what it earns, reward units; None if unpriced.

    The price of time is left out, since silence would not save it.
    """
    if row.get("train/price", 0.0) <= 0 or "train/billed" not in row:
        return None
    charged = row.get("train/accuracy", 1.0) if context.only_solved else 1.0
    earned = row["train/task_reward"] + context.round_price * row.get("train/rounds", 0.0)
    return row["train/billed"] * charged - earned

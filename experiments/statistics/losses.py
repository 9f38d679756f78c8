"""Sentences on what a run lost since its evaluation before training.

A loss is a change whose 95 % interval lies below 0. Where both evaluations kept outcomes the
interval is paired by task, so it holds for few tasks too.
"""

from __future__ import annotations

from laconic.experiments.run_folder.records import Evaluation, Run, goal
from laconic.experiments.statistics.pooled import changed
from laconic.experiments.statistics.words import label, level
from laconic.learners.metrics import Interval, is_share

SPOKEN = "spoke_if_informed"
LEAST = {SPOKEN: 0.05}
"""Metric -> least loss that is told. An informed agent may leave out a fact that others told."""
LEAST_SHARE = 0.01
"""Least loss of accuracy that is told: on 1,000 tasks even less is significant."""


def losses(run: Run, after: Evaluation | None) -> dict[str, str]:
    """Return what an evaluation of a run lost against the one before training, by metric."""
    sentences = {}
    for name in (goal([run]), SPOKEN):
        ends, change = compared(run, name, after)
        least = LEAST.get(name, LEAST_SHARE if is_share(name) else 0.0)
        if ends and change and change.high < 0 and change.mean <= -least:
            sentences[name] = _sentence(run, name, ends, after)
    return sentences


def new_losses(run: Run) -> list[str]:
    """Return the losses of the last evaluation that the evaluation before it did not have."""
    trained = [entry for entry in run.evaluations if entry.step > 0]
    earlier = losses(run, trained[-2]) if len(trained) > 1 else {}
    return [words for name, words in losses(run, run.after).items() if name not in earlier]


def compared(
    run: Run, name: str, after: Evaluation | None
) -> tuple[tuple[Interval, Interval] | None, Interval | None]:
    """Return the levels of a metric before training and in an evaluation, and its change.

    None and None if one of the two lacks it.
    """
    first = run.before.figure(name) if run.before else None
    last = after.figure(name) if after else None
    if not run.before or not after or first is None or last is None:
        return None, None
    return (first, last), changed([(run.before, after)], name)


def _sentence(
    run: Run, name: str, ends: tuple[Interval, Interval], after: Evaluation | None
) -> str:
    words = f"{label(name)} went from {level(name, ends[0])} to {level(name, ends[1])}"
    said, _ = compared(run, "tokens_said", after)
    _, prices = run.series("train/price")
    lower = "Try a lower env.reward.price or a higher learner.price.power"
    if name == SPOKEN:
        return f"{words}: agents keep silent although the others need what they know. {lower}"
    if said and said[1].mean < said[0].mean and prices and prices[-1] > 0:
        return (
            f"{words}, while tokens said went from {said[0].mean:.0f} to {said[1].mean:.0f} at a"
            f" price of {prices[-1]:.3g}: the price is above what the pass rate can pay. {lower}"
        )
    return (
        f"{words}, so the team is worse than before training. Try a lower optimizer.lr or a"
        " learner.objective.beta above 0"
    )

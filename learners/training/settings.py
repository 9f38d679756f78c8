"""Settings of an update, checked before torch is imported.

`objective`, `correction` and `trainer` compute with them; they import torch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

from laconic.envs.checks import choice, number, whole
from laconic.envs.errors import SettingError

Ratio = Literal["sequence", "sequence_token", "token", "none"]
Average = Literal["sequence", "token", "sum"]
Kind = Literal[
    "auto",
    "none",
    "token_truncate",
    "token_mask",
    "sequence_truncate",
    "sequence_mask",
    "geometric_mask",
]


@dataclass(frozen=True, slots=True)
class ObjectiveSettings:
    """Importance ratio, clipping, KL to the reference, and averaging of the loss."""

    importance_sampling_level: Ratio = "sequence"
    """Importance ratio; see `learners.training.objective`."""
    epsilon: float = 0.2
    """Clip of ratios below 1 - epsilon where the advantage is negative; 1 clips none."""
    epsilon_high: float = 0.25
    """Clip of ratios above 1 + epsilon_high where the advantage is positive; inf clips none."""
    beta: float = 0.0
    """Weight of the KL to the reference, per token (estimator k3: exp(d) - d - 1 with
    d = reference - current log-probability, Schulman 2020). 0: no reference is needed."""
    average: Average = "sequence"
    """Average of the loss. `sequence`: mean over a sequence's tokens, then over sequences. One
    without generated tokens counts with loss 0, as in TRL's `grpo`; verl 0.9.1 does not count it
    (state its number as `sequences` for the same loss). `token`: mean over all generated tokens,
    which with a sequence ratio weighs sequences by their length. `sum`: sum over a sequence's
    tokens divided by `normalizer`, then the mean over sequences."""
    normalizer: float = 1.0
    """Divisor of average `sum`, tokens. 1 leaves the log-probability of a sequence (REINFORCE); a
    constant such as the longest reply is Dr. GRPO's (arXiv 2503.20783)."""
    shortest: int = 1
    """Length floor of a ratio, tokens: shorter sequences count as this long; 1: their own length.
    The gradient of such a sequence shrinks by its length / `shortest`."""

    def __post_init__(self) -> None:
        """Check the words (`UnknownNameError`) and ranges (`SettingError`)."""
        choice(
            "learner.objective.importance_sampling_level",
            self.importance_sampling_level,
            get_args(Ratio),
        )
        choice("learner.objective.average", self.average, get_args(Average))
        number("learner.objective.epsilon", self.epsilon, above=0, highest=1)
        number("learner.objective.epsilon_high", self.epsilon_high, above=0, finite=False)
        number("learner.objective.beta", self.beta, lowest=0)
        number("learner.objective.normalizer", self.normalizer, above=0)
        whole("learner.objective.shortest", self.shortest, 1)
        if self.shortest > 1 and self.importance_sampling_level not in (
            "sequence",
            "sequence_token",
        ):
            raise SettingError(
                f"learner.objective.shortest={self.shortest} is a length in the ratio of a"
                f" sequence, and got"
                f" learner.objective.importance_sampling_level={self.importance_sampling_level};"
                " set it to sequence, or set learner.objective.shortest=1"
            )


@dataclass(frozen=True, slots=True)
class CorrectionSettings:
    """Weight of the loss of a token."""

    kind: Kind = "auto"
    """Name of the rule; `learners.training.correction` has the formulas."""
    low: float | None = None
    """Lower bound of the weight, at least 0 and below 1. None: that of the kind."""
    high: float | None = None
    """Upper bound of the weight, above 1. None: that of the kind."""

    def __post_init__(self) -> None:
        """Check the word (`UnknownNameError`) and the bounds (`SettingError`)."""
        choice("learner.correction", self.kind, get_args(Kind))
        number("learner.correction_low", self.low, lowest=0, below=1, optional=True)
        number("learner.correction_high", self.high, above=1, optional=True, finite=False)

    def of_ratio(self, ratio: str) -> Self:
        """Return these settings with `auto` replaced by the kind that fits a ratio.

        Raises:
            SettingError: the correction weighs tokens, and the ratio covers a sequence.
        """
        per_sequence = ratio in ("sequence", "sequence_token")
        if self.kind == "auto":
            kind: Kind = "sequence_truncate" if per_sequence else "token_truncate"
            return replace(self, kind=kind)
        if per_sequence and self.kind.startswith("token"):
            raise SettingError(
                f"learner.correction={self.kind} weighs tokens, and"
                f" learner.objective.importance_sampling_level={ratio} has one ratio for a whole"
                " sequence; take sequence_truncate, or a ratio per token"
            )
        return self


@dataclass(frozen=True, slots=True)
class StepSettings:
    """Number and size of the optimizer steps of an update."""

    objective: ObjectiveSettings = ObjectiveSettings()
    """Loss."""
    minibatches: int = 4
    """Optimizer steps per policy and update."""
    microbatch_tokens: int = 16384
    """Most tokens of one forward pass, padding included."""
    max_grad_norm: float = 1.0
    """Norm to which gradients are scaled down."""
    warmup_updates: int = 0
    """Updates over which the learning rate rises on a straight line, from 1 / warmup_updates of it
    in the first one to all of it in the last one; 0 and 1 start with all of it."""
    decay_updates: int | None = None
    """Updates after which the learning rate is 0; it falls from the end of the warm-up on. None and
    0: it stays."""
    seed: int = 0
    """Seed of the order in which sequences enter the minibatches."""
    correction: CorrectionSettings = CorrectionSettings()
    """Correction for an engine that sampled with other log-probabilities."""
    decay: Literal["linear", "cosine"] = "linear"
    """Curve on which it falls: a straight line, or half a cosine (arXiv 1608.03983)."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        self.correction.of_ratio(self.objective.importance_sampling_level)
        whole("learner.minibatches", self.minibatches, 1)
        whole("learner.microbatch_tokens", self.microbatch_tokens, 1)
        whole("learner.warmup_updates", self.warmup_updates, 0)
        whole("learner.decay_updates", self.decay_updates, 0, optional=True)
        choice("learner.decay", self.decay, ("linear", "cosine"))
        number("learner.max_grad_norm", self.max_grad_norm, above=0, finite=False)

"""SDPO: a policy learns from what came after its reply (arXiv 2603.12273).

After a reply y to the context x an agent may read a follow-up o: what its teammates said next, or
feedback. The policy of now judges each token of y again, with o in view:

    r_t = log p(y_t | x, o, y_<t) - log p(y_t | x, y_<t)        no gradient, the same weights
    A_t = r_t - mean of r over the reply
    loss = - mean over replies of mean over tokens of min(q_t A_t, clip(q_t) A_t)

with q_t the importance ratio of the token. So tokens become likelier that the policy would have
preferred had it known o. The A_t of a single token, as silence often is, would always be 0; other
values of `center` leave it r_t. No reward enters, unless `mix` adds w A_t to the advantage of a
group (as in OpenClaw-RL).

The follow-up stands at the end of the text that the agent answers, in `BLOCK`. Its tokens are put
between those of the context; the reply keeps the tokens that were sampled. The authors' code
centers tokens in the loss, and compares sequences only for its logs; so do we
(`hindsight_metrics`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from statistics import fmean
from types import MappingProxyType
from typing import Any, Literal

from laconic.envs.checks import Positive, checked
from laconic.envs.errors import SettingError
from laconic.learners.advantages.group import Advantages
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.algorithms.group import GroupLearner, Steps
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Policy
from laconic.learners.training.objective import Objective
from laconic.learners.training.own_loss import Loss, as_objective
from laconic.learners.training.sequences import TokenSequence, Unit
from laconic.learners.training.trainer import MakeOptimizer, Trainer

BLOCK = "\nAfter your reply you will read:\n{}"
"""Text that shows a follow-up at the end of the text that the agent answers."""
Center = Literal["mean", "messages", "none"]
Source = Literal["next_round", "feedback", "outcome"]
FollowUp = Callable[[Episode, Turn], str]
"""Function from an episode and one of its turns to what came after the turn; empty for nothing."""


def next_round(episode: Episode, turn: Turn) -> str:
    """Return the text that the agent was shown until its next turn, or until the end."""
    later = (each for each in episode.turns if each.agent == turn.agent and each.round > turn.round)
    return next((each.read for each in later), episode.unread.get(turn.agent, ""))


def feedback(episode: Episode, turn: Turn) -> str:
    """Return the environment's comment on the turn."""
    return turn.feedback


def outcome(episode: Episode, turn: Turn) -> str:
    """Return a line that says whether the episode was solved, or else its score."""
    if episode.solved is None:
        return f"Score: {episode.score:g}."
    return "The answer is right." if episode.solved else "The answer is wrong."


FOLLOW_UPS: Mapping[str, FollowUp] = MappingProxyType(
    {"next_round": next_round, "feedback": feedback, "outcome": outcome}
)
"""Follow-ups by their name in a config."""


@dataclass(frozen=True, slots=True)
class HindsightScores:
    """A reply and what the policy of now thinks of its tokens with the follow-up in view."""

    reply: TokenSequence
    """The reply as it was sampled."""
    log_ratios: tuple[float, ...]
    """(generated,) r_t of each generated token, nats; empty without a follow-up."""
    advantages: tuple[float, ...] = ()
    """(generated,) A_t of each of them, nats."""


class HindsightLearner(GroupLearner):
    """Learns from follow-ups, and from the comparison of a group if `mix` is set."""

    @checked("learner")
    def __init__(
        self,
        policies: Mapping[str, Policy],
        optimizer: MakeOptimizer,
        *,
        follow_up: Source = "next_round",
        mix: Positive | None = None,
        center: Center = "mean",
        unit: Unit = "reply",
        objective: Objective | Loss | None = None,
        **common: Any,
    ) -> None:
        """Check the settings and make one optimizer per policy.

        Args:
            policies: see `PolicyLearner`.
            optimizer: see `PolicyLearner`.
            follow_up: what the policy sees in hindsight: what the agent read until its next turn or
                the end (`next_round`), what the environment said about the reply (`feedback`), or
                whether the episode was solved (`outcome`).
            mix: w, weight of the tokens' advantages beside the advantage of the group. None: they
                alone are learned from, and rewards and prices have no effect.
            center: `mean` subtracts the mean over the reply from each of its tokens, so a reply of
                one token, such as silence, learns nothing; `messages` does so except in silent
                replies; `none` subtracts nothing.
            unit: unit of a sequence; a follow-up belongs to one `reply`.
            objective: loss; its ratio must leave tokens apart.
            **common: further settings of `GroupLearner`.

        Raises:
            SettingError: a setting is out of range, or the unit or the ratio covers several tokens
                that have different advantages.
            UnknownNameError: a word is unknown.
        """
        self._follow_up = FOLLOW_UPS[follow_up]
        self._mix, self._center = mix, center
        self._judged: list[HindsightScores] = []
        objective = Objective("token") if objective is None else as_objective(objective)
        if unit != "reply":
            raise SettingError(
                "learner.unit must be 'reply' for learner=sdpo, because a follow-up belongs to one"
                f" reply; got {unit!r}"
            )
        if objective.importance_sampling_level == "sequence":
            raise SettingError(
                "learner.objective.importance_sampling_level=sequence weighs all tokens of a reply"
                " alike, and the advantages of learner=sdpo differ between its tokens; set it to"
                " token, sequence_token or none"
            )
        super().__init__(policies, optimizer, unit=unit, objective=objective, **common)

    def check(self, group_size: int) -> None:
        """Refuse groups of a size that cannot be compared, if `mix` compares them."""
        if self._mix is not None:
            super().check(group_size)

    def has_contrast(self, group: Group) -> bool:
        """Return True: follow-ups teach in a group of equal returns too."""
        return True

    def sequences(
        self, group: Group, agents: Collection[str] | None = None
    ) -> tuple[TokenSequence, ...]:
        """Return the replies of a group, with the advantages of their tokens.

        Every process must call it for the same groups in the same order.
        """
        replies = super().sequences(group, agents)
        judged = {
            id(each.reply): each
            for trainer in self._trainers
            for each in self._judge(trainer, group, replies)
        }
        self._judged += judged.values()
        return tuple(self._with_hindsight(reply, judged.get(id(reply))) for reply in replies)

    def _learn(self, groups: Sequence[Group]) -> tuple[Steps, dict[str, float]]:
        self._judged = []
        steps, learned = super()._learn(groups)
        return steps, {**learned, **hindsight_metrics(self._judged)}

    def _judge(
        self, trainer: Trainer, group: Group, replies: Sequence[TokenSequence]
    ) -> list[HindsightScores]:
        """Judge the replies of a trainer's agents, each with its follow-up in view."""
        own = [each for each in replies if each.agent in trainer.agents and any(each.generated)]
        turns = {
            (index, turn.agent, turn.round): turn
            for index, episode in enumerate(group.episodes)
            for turn in episode.turns
        }
        pairs: list[tuple[TokenSequence, TokenSequence]] = []
        for reply in own:
            turn = turns[reply.episode, reply.agent, reply.round or 0]
            text = self._follow_up(group.episodes[reply.episode], turn).strip()
            hindsight = with_follow_up(reply, text, trainer.policy) if text else None
            if hindsight is not None:
                pairs.append((reply, hindsight))
        log_ratios = self._processes.map_sharded(pairs, lambda share: _log_ratios(trainer, share))
        by_reply = {id(reply): values for (reply, _), values in zip(pairs, log_ratios, strict=True)}
        return [
            HindsightScores(reply, values, self._centered(reply, values))
            for reply in own
            for values in (by_reply.get(id(reply), ()),)
        ]

    def _centered(self, reply: TokenSequence, log_ratios: tuple[float, ...]) -> tuple[float, ...]:
        """Return the advantages (generated,) of a reply's tokens."""
        kept = self._center == "none" or (self._center == "messages" and reply.silent)
        if kept or not log_ratios:
            return log_ratios
        mean = fmean(log_ratios)
        return tuple(value - mean for value in log_ratios)

    def _with_hindsight(
        self, reply: TokenSequence, judged: HindsightScores | None
    ) -> TokenSequence:
        """Return a reply with the advantages of its tokens; without `mix` with these alone."""
        if self._mix is None:
            parts = reply.breakdown and replace(
                reply.breakdown, comparison=None, task_advantage=None
            )
            reply = replace(reply, advantage=0.0, breakdown=parts)
        if judged is None or not judged.advantages:
            return reply
        weight, values = 1.0 if self._mix is None else self._mix, iter(judged.advantages)
        return replace(
            reply,
            token_advantages=tuple(
                weight * next(values) if generated else 0.0 for generated in reply.generated
            ),
        )


def with_follow_up(reply: TokenSequence, text: str, policy: HFPolicy) -> TokenSequence | None:
    """Return a reply whose context also shows a follow-up.

    Args:
        reply: sequence of one reply, whose generated tokens stand at its end.
        text: the follow-up.
        policy: policy that sampled the reply.

    Returns:
        The same reply after a longer context. None: the conversation would be too long for the
        model.
    """
    begin = reply.generated.index(True)
    context = policy.extend_prompt(reply.token_ids[:begin], BLOCK.format(text))
    ids, added = (*context, *reply.token_ids[begin:]), len(context) - begin
    if policy.positions is not None and len(ids) > policy.positions:
        return None
    return replace(
        reply,
        token_ids=ids,
        generated=(False,) * added + reply.generated,
        behavior_logprobs=(0.0,) * added + reply.behavior_logprobs,
        rollout_logprobs=None,
        token_advantages=(),
    )


def _log_ratios(
    trainer: Trainer, pairs: Sequence[tuple[TokenSequence, TokenSequence]]
) -> list[tuple[float, ...]]:
    """Return r_t (generated,) of pairs of a reply and the reply after its follow-up.

    The sampling already computed the log-probabilities without the follow-up, unless these have to
    be computed again before an update anyway.
    """
    replies, hindsight = [reply for reply, _ in pairs], [seen for _, seen in pairs]
    before = [reply.behavior_logprobs for reply in replies]
    if trainer.policy.recompute_logprobs:
        before = trainer.logprobs(replies)
    return [
        tuple(
            seen - unseen
            for seen, unseen in zip(
                compress(after, longer.generated), compress(own, reply.generated), strict=True
            )
        )
        for reply, longer, own, after in zip(
            replies, hindsight, before, trainer.logprobs(hindsight), strict=True
        )
    ]


def hindsight_metrics(judged: Sequence[HindsightScores]) -> dict[str, float]:
    """Describe the follow-ups of an update.

    Returns:
        `follow_up_share`: fraction of replies with a follow-up. For those: `hindsight_gain`, mean
        over replies of the mean of r over the tokens, nats per token; `hindsight_advantage`, root
        mean square of A_t over the tokens; `hindsight_contrast`, root mean square over replies of
        that mean less the mean of the other replies of the same task, agent and round, which only
        the authors' logs use. Figures without data are missing.
    """
    seen = [each for each in judged if each.log_ratios]
    if not judged:
        return {}
    metrics = {"follow_up_share": len(seen) / len(judged)}
    if seen:
        gains = [fmean(each.log_ratios) for each in seen]
        others = Advantages(("task", "agent", "round"), center="leave_one_out", scale="none")
        contrasts = others(gains, [each.reply.key for each in seen])
        tokens = [value for each in seen for value in each.advantages]
        metrics["hindsight_gain"] = fmean(gains)
        metrics["hindsight_advantage"] = _root_mean_square(tokens)
        metrics["hindsight_contrast"] = _root_mean_square(contrasts)
    return metrics


def _root_mean_square(values: Sequence[float]) -> float:
    return math.sqrt(fmean(value * value for value in values))

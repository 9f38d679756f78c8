"""Policies with a gate: one that a gate lets speak, and one that is itself a gate (`agent.gate`).

A turn has tokens of one policy, the one that may learn. The other one reads a conversation of its
own, in which its earlier replies are what the agent said.

- `GatedPolicy` speaks where its gate lets it. Where the gate says silent, the turn has no reply
  tokens, because it is no sample of this policy: it enters no loss. The policy reads the turn later
  as silence, in its own words.
- `GatePolicy` learns when to speak. Its reply is cut to the length of the silence word: silence
  says silent, and any other beginning lets the speaker speak. The tokens of the turn are this
  decision, so under `learner.credit=silence` they earn what the message is worth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from pettingzoo import ParallelEnv
from torch.nn.utils.rnn import pad_sequence

from laconic.envs.errors import SettingError
from laconic.extras.methods.gate import Gate, GateCall, gate_call
from laconic.learners.agents.cache import batches
from laconic.learners.agents.chat import conversation
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.interfaces import Reply, Request, Sampler

_LOGITS = 2**26
"""Maximum logits of a pass of a gate."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision of a gate in one turn."""

    speaks: bool
    """True if the agent may speak."""
    tokens: int = 0
    """Tokens that the gate read and wrote for it."""


class Decider(Protocol):
    """A gate in front of a policy."""

    def decide(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Decision]:
        """Decide for every request, in order."""
        ...


@dataclass(frozen=True, slots=True)
class ScriptedGate:
    """Gate that knows who is informed, with noise."""

    speak_informed: float
    """Probability of speaking for an agent that is informed."""
    speak_uninformed: float
    """Probability of speaking for an agent that is not."""

    def decide(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Decision]:
        """Draw for every request; a script ignores `greedy`."""
        rates = {None: 1.0, True: self.speak_informed, False: self.speak_uninformed}
        draws = np.random.default_rng(seed).random(len(requests))
        return [
            Decision(bool(draw < rates[request.info.get("informed")]))
            for request, draw in zip(requests, draws, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class ModelGate:
    """Gate of weights, which are not trained. It is silent as likely as its policy would be."""

    policy: HFPolicy
    """Policy that reads the conversation."""
    threshold: float
    """Probability of speaking from which the gate speaks in greedy play."""

    def decide(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Decision]:
        """Compare with the threshold in greedy play, and draw in sampled play."""
        word = self.policy.write("")
        texts = []
        for request in requests:
            own = as_said_by(self.policy, request)
            texts.append((*conversation(own.history), *self.policy.read(own), *word))
        silent = reply_probabilities(self.policy, texts, len(word))
        draws = np.random.default_rng(seed).random(len(requests))
        bounds = np.full(len(requests), self.threshold) if greedy else 1 - draws
        return [
            Decision(bool(1 - silent[text] >= bound), len(text))
            for text, bound in zip(texts, bounds, strict=True)
        ]


@torch.no_grad()
def reply_probabilities(
    policy: HFPolicy, texts: Sequence[tuple[int, ...]], count: int
) -> dict[tuple[int, ...], float]:
    """Return the probability of the last `count` tokens of each text under a policy.

    Equal texts go through the model once. For a text that exceeds its positions it is 1.
    """
    most = policy.positions
    rows = [text for text in dict.fromkeys(texts) if most is None or len(text) <= most]
    vocabulary = int(policy.model.config.get_text_config().vocab_size)
    limit = min(policy.generate_tokens, max(_LOGITS // vocabulary, 1))
    probabilities = dict.fromkeys(texts, 1.0)
    with policy.computing():
        for part in batches([len(row) for row in rows], [1] * len(rows), None, limit):
            tokens = [torch.tensor(rows[row]) for row in part]
            ids = pad_sequence(tokens, batch_first=True, padding_value=policy.pad_id)
            # Padding on the right comes after all that is read here.
            logits = policy.model(input_ids=ids.to(policy.device)).logits.float()
            logprobs = logits[:, :-1].log_softmax(-1).cpu().gather(-1, ids[:, 1:, None])[..., 0]
            for row, values in zip(part, logprobs, strict=True):
                end = len(rows[row]) - 1
                probabilities[rows[row]] = float(values[end - count : end].double().sum().exp())
    return probabilities


class GatedPolicy(HFPolicy):
    """Policy that is called where its gate says speak."""

    gate: Decider
    """Gate in front of it."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Ask the gate about all requests, then answer those that it lets through.

        If it lets all of them through, replies are those of the policy without a gate.
        """
        decisions = self.gate.decide(requests, seed=_other(seed), greedy=greedy)
        passed = [place for place, decision in enumerate(decisions) if decision.speaks]
        replies = []
        if passed:
            replies = super().reply([requests[p] for p in passed], seed=seed, greedy=greedy)
        reply_at = dict(zip(passed, replies, strict=True))
        return [
            self._record(request, decision, reply_at.get(place))
            for place, (request, decision) in enumerate(zip(requests, decisions, strict=True))
        ]

    async def answer(
        self, request: Request, *, seed: int, greedy: bool, episode: int, version: int | None
    ) -> Reply:
        """Answer one request with an `AsyncSampler` if the gate lets it through."""
        (decision,) = self.gate.decide([request], seed=_other(seed), greedy=greedy)
        reply = None
        if decision.speaks:
            reply = await super().answer(
                request, seed=seed, greedy=greedy, episode=episode, version=version
            )
        return self._record(request, decision, reply)

    def _record(self, request: Request, decision: Decision, reply: Reply | None) -> Reply:
        """Return a reply with its ledger. None is silence, whose tokens are context."""
        if reply is None:
            silence = self.quote(request, "")
            ids = (*silence.prompt_ids, *silence.reply_ids)
            return Reply("", ids, extra=GateCall(False, decision.tokens).as_extra())
        tokens = unread(request.history, request.history, reply)
        return replace(reply, extra=GateCall(True, decision.tokens, tokens).as_extra())


class GatePolicy(HFPolicy):
    """Policy that decides when another one, its speaker, is called."""

    speaker: HFPolicy
    """Policy behind it, which is not trained."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Decide about all requests, then let the speaker answer those that may speak."""
        own = super().reply(requests, seed=seed, greedy=greedy)
        passed = [place for place, reply in enumerate(own) if speaks(reply, greedy)]
        views = [as_said_by(self.speaker, requests[place]) for place in passed]
        answers = self.speaker.reply(views, seed=_other(seed), greedy=greedy) if views else []
        replies = [replace(reply, extra=GateCall(False, _size(reply)).as_extra()) for reply in own]
        for place, view, answer in zip(passed, views, answers, strict=True):
            request, decision = requests[place], own[place]
            tokens = unread(request.history, view.history, answer)
            # Where silence was likeliest, though not likely enough, the gate reads what was said.
            written = self.quote(request, answer.message) if is_silence(decision) else decision
            replies[place] = replace(
                answer,
                prompt_ids=written.prompt_ids,
                reply_ids=written.reply_ids,
                behavior_logprobs=written.behavior_logprobs,
                version=decision.version,
                extra=GateCall(True, _size(decision), tokens).as_extra(),
            )
        return replies

    def sample_with(self, sampler: Sampler | None, positions: int | None = None) -> None:
        """Sample decisions with a sampler from now on; the speaker samples by itself.

        Raises:
            SettingError: the sampler answers single requests.
        """
        if hasattr(sampler, "submit"):
            raise SettingError(
                "agent.speaker needs an engine that answers all requests of a round at once;"
                f" got {type(sampler).__name__}; set engine=own"
            )
        super().sample_with(sampler, positions)

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Keep the states of both policies within the body."""
        with super().remembering(), self.speaker.remembering():
            yield


def attach_gate(
    gate: Gate, policies: Mapping[str, HFPolicy], environment: ParallelEnv[str, Any, Any]
) -> None:
    """Build a gate for an environment, and put it in front of policies of this kind."""
    decider: Decider = ScriptedGate(gate.speak_informed, gate.speak_uninformed)
    if not isinstance(gate.policy, str):
        decider = ModelGate(_shared(gate.policy, environment), gate.threshold)
        cut_to_decisions(decider.policy)
    for policy in policies.values():
        assert isinstance(policy, GatedPolicy)
        policy.gate = decider


def put_speaker(
    team: Any, policies: Mapping[str, HFPolicy], environment: ParallelEnv[str, Any, Any]
) -> None:
    """Build the speaker for an environment, and put it behind policies of this kind."""
    speaker = _shared(team, environment)
    for policy in policies.values():
        assert isinstance(policy, GatePolicy)
        policy.speaker = speaker
        cut_to_decisions(policy)


def _shared(team: Any, environment: ParallelEnv[str, Any, Any]) -> HFPolicy:
    """Return the policy that all agents of a team share."""
    policies: dict[str, HFPolicy] = team.policies(environment)
    return next(iter(policies.values()))


def cut_to_decisions(policy: HFPolicy) -> None:
    """Cut the replies of a policy to the length of its silence."""
    policy.sampling = replace(policy.sampling, max_reply_tokens=len(policy.write("")))


def is_silence(reply: Reply) -> bool:
    """Return whether a reply as short as the silence word is silence.

    Any other beginning is stopped by the limit, also one that has no visible character yet.
    """
    return not reply.message and not reply.truncated


def speaks(reply: Reply, greedy: bool) -> bool:
    """Return what a gate's own reply decides.

    A sampled reply decides by itself. In greedy play the likelier decision counts: silence may be
    the likeliest reply, and yet less likely than all others together.
    """
    likeliest = not greedy or sum(reply.behavior_logprobs) > math.log(0.5)
    return not is_silence(reply) or not likeliest


def as_said_by(policy: HFPolicy, request: Request) -> Request:
    """Return a request whose history is in the tokens of a policy, as if it had said all of it."""
    history: tuple[Reply, ...] = ()
    for place, (text, reply) in enumerate(zip(request.texts, request.history, strict=True)):
        earlier = replace(
            request, text=text, history=history, texts=request.texts[:place], max_tokens=None
        )
        history = (*history, policy.quote(earlier, reply.message))
    return replace(request, history=history)


def unread(decisions: Sequence[Reply], history: Sequence[Reply], reply: Reply) -> int:
    """Count the tokens of a call: those that are new since the last call, the reply included.

    Args:
        decisions: earlier replies of the agent, with what the gate decided.
        history: the same turns in the tokens of the policy that is called.
        reply: its reply.
    """
    tokens = _size(reply)
    for decided, earlier in zip(reversed(decisions), reversed(history), strict=True):
        call = gate_call(decided)
        if call is None or call.speaks:
            break
        tokens += _size(earlier)
    return tokens


def _size(reply: Reply) -> int:
    return len(reply.prompt_ids) + len(reply.reply_ids)


def _other(seed: int) -> int:
    """Return the seed of the policy whose tokens the turn does not have."""
    return int(np.random.default_rng((seed, 1)).integers(2**31))

"""One policy on its way through an update: its optimiser, its reference, its log-probabilities.

Knows nothing of advantages or losses; `learners.algorithms.group` puts them together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from transformers import PreTrainedModel

from laconic.envs.errors import SettingError
from laconic.learners.agents.base import Policy
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.load import share_frozen
from laconic.learners.distributed.processes import ALONE, Processes
from laconic.learners.training.logprobs import current_logprobs, recomputed
from laconic.learners.training.objective import LossInputs
from laconic.learners.training.sequences import Batch, TokenSequence

MakeOptimizer = Callable[..., Optimizer]
"""Called with parameters, and with the settings that a policy has of its own."""


class Trainer:
    """One policy with its optimiser and, if asked for, the frozen copy its KL is measured from."""

    def __init__(
        self,
        policy: HFPolicy,
        agents: Collection[str],
        optimizer: MakeOptimizer,
        needs_reference: bool,
        processes: Processes = ALONE,
    ) -> None:
        """Make the optimiser and the reference.

        Args:
            policy: whose trainable parameters are trained.
            agents: who speaks by it.
            optimizer: makes an optimiser of parameters; the policy's own settings go before it.
            needs_reference: whether there is a KL to the policy as it is now. The copy has those
                parameters in common that are not trained.
            processes: those that train it together. Where weights are in parts these are too, but
                for adapters: their base is common to several, and stays whole.

        Raises:
            SettingError: the optimiser refuses the policy's own settings.
        """
        self.policy = policy
        self.agents = agents
        self._processes = processes
        self._reference: PreTrainedModel | None = None
        if needs_reference:
            self._reference = share_frozen(policy.model).requires_grad_(False)
        for model in (policy.model, self._reference):
            if model is not None and not policy.adapted:
                processes.shard(model)
        self.parameters = [p for p in policy.model.parameters() if p.requires_grad]
        self.optimizer = _optimizer(optimizer, self.parameters, policy, agents)
        self._learning_rates = [group["lr"] for group in self.optimizer.param_groups]

    def scale_learning_rate(self, factor: float) -> None:
        """Set every learning rate to a multiple of what it was at first."""
        for group, rate in zip(self.optimizer.param_groups, self._learning_rates, strict=True):
            group["lr"] = rate * factor

    def prepare(
        self, sequences: Sequence[TokenSequence], max_tokens: int
    ) -> Sequence[TokenSequence]:
        """The sequences of an update with the behaviour log-probabilities this policy wants.

        Args:
            sequences: sampled by this policy as it is now, on any process.
            max_tokens: most tokens, padding included, of one forward pass.
        """
        if not self.policy.recompute_logprobs:
            return sequences
        model, pad_id, temperature = (
            self.policy.model,
            self.policy.pad_id,
            self.policy.speech.temperature,
        )
        return self._processes.map_sharded(
            sequences, lambda own: recomputed(model, own, pad_id, temperature, max_tokens)
        )

    def inputs(self, batch: Batch, divisor: float) -> LossInputs:
        """What the objective needs to know of a batch on the policy's device."""
        temperature = self.policy.speech.temperature
        reference = None
        if self._reference is not None:
            with torch.no_grad():
                reference = current_logprobs(self._reference, batch, temperature)
        return LossInputs(
            current_logprobs=current_logprobs(self.policy.model, batch, temperature),
            behaviour_logprobs=batch.behaviour_logprobs,
            generated_mask=batch.generated_mask,
            advantages=batch.advantages,
            reference_logprobs=reference,
            divisor=divisor,
        )

    def state_dict(self) -> dict[str, Any]:
        """The trained weights, of an adapter it alone; the optimiser's state; the reference's.

        It is whole, and the same on any number of processes.
        """
        state = {"model": self.policy.weights(), "optimizer": self.optimizer.state_dict()}
        if self._reference is not None:
            state["reference"] = self.policy.weights(self._reference)
        whole: dict[str, Any] = self._processes.full_state(state)
        return whole

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        self._load(state["model"], None)
        self.optimizer.load_state_dict(self._optimizer_state(state["optimizer"]))
        if self._reference is not None:
            self._load(state["reference"], self._reference)

    def _load(self, weights: Mapping[str, Tensor], model: PreTrainedModel | None) -> None:
        parts = self._processes.shard_like(weights, self.policy.weights(model))
        self.policy.load_weights(parts, model)

    def _optimizer_state(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The state of an optimiser, each tensor in the parts of the parameter that it is of."""
        own = [one for group in self.optimizer.param_groups for one in group["params"]]
        placed = {
            index: self._processes.shard_like(values, dict.fromkeys(values, own[index]))
            for index, values in state["state"].items()
        }
        return {**state, "state": placed}


def trainers_of(
    policies: Mapping[str, Policy],
    optimizer: MakeOptimizer,
    needs_reference: bool,
    processes: Processes = ALONE,
) -> list[Trainer]:
    """A trainer for each set of weights that can be trained; scripts and frozen weights have none.

    Args:
        policies: who speaks for each agent; equal objects share weights.
        optimizer: makes an optimiser of parameters.
        needs_reference: whether there is a KL to the policies as they are now.
        processes: those that train them together.

    Returns:
        Trainers in the order of their first agents; none without policies.

    Raises:
        SettingError: there are policies, and none of them can be trained.
    """
    found: dict[int, tuple[HFPolicy, list[str]]] = {}
    for agent, policy in policies.items():
        if isinstance(policy, HFPolicy) and not policy.frozen:
            found.setdefault(id(policy), (policy, []))[1].append(agent)
    if policies and not found:
        kinds = ", ".join(f"{agent}: {_kind(policy)}" for agent, policy in policies.items())
        raise SettingError(
            f"nobody in the team has weights to train ({kinds}); choose agent=tiny or agent=hf, or"
            " set frozen=false for somebody"
        )
    return [
        Trainer(policy, tuple(agents), optimizer, needs_reference, processes)
        for policy, agents in found.values()
    ]


def _kind(policy: Policy) -> str:
    return "frozen" if isinstance(policy, HFPolicy) else type(policy).__name__


def _optimizer(
    make: MakeOptimizer, parameters: Iterable[Tensor], policy: HFPolicy, agents: Collection[str]
) -> Optimizer:
    if not policy.optimizer:
        return make(parameters)
    try:
        return make(parameters, **policy.optimizer)
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"agent.optimizer has {dict(policy.optimizer)!r} for {', '.join(agents)}, which the"
            f" optimiser refuses: {error}"
        ) from error

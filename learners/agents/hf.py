"""Teams that speak with a causal language model of `transformers`.

`HFTeam` gives each agent of an environment its policy: one shared by all, one each, or one LoRA
adapter each on a common base. Its settings are checked without torch, which is imported where
models are loaded.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pettingzoo import ParallelEnv

from laconic.envs.dialogue.roster import by_agent
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.agents.folders import agent_folders, check_model, fetched
from laconic.learners.agents.lora import (
    Adapter,
    Lora,
    adapter_folders,
    base_of,
    check_peft,
    is_adapter,
    new_adapter,
    saved_adapter,
)
from laconic.learners.agents.sampling import (
    PRECISIONS,
    SamplingSettings,
    check_quantization,
)
from laconic.learners.agents.trained import form_of, restore, run_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from laconic.learners.agents.policy import HFPolicy
    from laconic.learners.agents.precision import Precision

__all__ = ["HFPolicy", "HFTeam", "Sharing", "SamplingSettings", "give_optimizers"]

Sharing = Literal["shared", "separate", "lora"]


@dataclass
class HFTeam:
    """The policies of a team, made from a causal language model by name or path."""

    model: str
    """Name on the hub, a GGUF file, or a folder: a model that `save_pretrained` wrote, or those of
    several agents, of models or of adapters, as a training leaves them and `experiments.share`
    sends them."""
    sharing: Sharing = "shared"
    """`shared`: one policy for all agents. `separate`: each agent has its own, alike at first.
    `lora`: each agent has its own adapter, alike at first, on a common frozen base."""
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    """How the policies speak."""
    lora: Lora = field(default_factory=Lora)
    """The form of the adapters; only `sharing=lora` has any."""
    frozen: bool = False
    """Whether the policies are left as they are."""
    optimizer: Mapping[str, Mapping[str, Any]] | None = None
    """By role or agent: settings of its optimiser that differ from those of `optimizer`."""
    gradient_checkpointing: bool = False
    """Compute activations again in the backward pass instead of keeping them."""
    recompute_logprobs: bool | None = None
    """Compute behavior log-probabilities again before an update; None: unless all is computed in
    float32."""
    precision: str = "auto"
    """How weights are kept and passes computed (`learners.agents.precision`): `float32`,
    `bfloat16_autocast` (float32 weights, passes in bfloat16), `bfloat16`, or `auto`: the second for
    more than 50 million parameters where the device multiplies in bfloat16, else the first.
    Adapters are float32 in any case."""
    device: str = "auto"
    """Device of the weights; `auto` takes a GPU where there is one."""
    attn_implementation: str | None = None
    """Implementation of attention (`sdpa`, `eager`, `flash_attention_2`); None: that of
    `transformers`."""
    revision: str | None = None
    """Branch, tag or commit of a model on the hub; None: its main one."""
    quantization: str | None = None
    """`4bit` or `8bit`: the base of adapters, or frozen weights, packed by `bitsandbytes`."""
    step: int | None = None
    """Where `model` is a run folder: the checkpoint of that step; None: its last one."""

    def __post_init__(self) -> None:
        """Check what can be checked without loading."""
        if isinstance(self.lora, Mapping):
            self.lora = Lora(**self.lora)
        if self.sharing not in get_args(Sharing):
            raise UnknownNameError("agent.sharing", self.sharing, get_args(Sharing))
        if self.precision not in PRECISIONS:
            raise UnknownNameError("agent.precision", self.precision, PRECISIONS)
        if self.quantization is not None:
            self._check_quantization(self.quantization)
        if self.sharing == "lora":
            check_peft()
        if self.step is not None and self._run is None:
            raise SettingError(
                f"agent.step={self.step} is for agent.model=<run folder>, with its config.yaml and"
                f" checkpoints/; agent.model={self.model!r} is none"
            )
        if self._run is None:
            check_model(self.model)

    def defaults(self, imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other groups that suit a language model, by dotted key.

        Args:
            imitates: whether the team learns from demonstrations.
        """
        rate = 1e-4 if imitates or self.sharing == "lora" else 1e-6
        teacher = "learner.collect.teacher"
        return {
            "env.instructions": "full",
            "env.budget.message": 255,
            "env.budget.episode": 1020,
            "optimizer.lr": rate,
            "learner.objective.normalizer": float(self.sampling.max_reply_tokens),
            # A teacher that tells the two kinds of silence apart.
            f"{teacher}.silent_informed": 0.0,
            f"{teacher}.silent_uninformed": 0.6,
            "learner.collect.others": 0.8,
        }

    def _check_quantization(self, kind: str) -> None:
        if self.sharing != "lora" and not self.frozen:
            raise SettingError(
                f"agent.quantization={kind} packs weights that take no steps; set"
                " agent.sharing=lora or agent.frozen=true, or agent.quantization=null"
            )
        check_quantization(kind)

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The model's tokenizer; adapters speak with that of their base."""
        from laconic.learners.agents.load import load_tokenizer

        folder = next(iter(agent_folders(self._source).values()), self._base)
        return load_tokenizer(folder, self.revision)

    @cached_property
    def tokenize(self) -> Callable[[str], Sequence[str]]:
        """Cuts text into the model's tokens; environments count budgets with it."""
        from laconic.learners.agents.chat import tokenize_with

        return tokenize_with(self.tokenizer)

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, HFPolicy]:
        """Return the policy of each agent; with shared weights they are one object.

        Raises:
            SettingError: the model cannot be loaded, or was saved for other agents than these;
                agents that share a policy have different optimisers.
            UnknownNameError: an optimiser is of an agent or role that does not exist.
        """
        agents = environment.possible_agents
        own = by_agent("agent or role in agent.optimizer", self.optimizer or {}, agents)
        made = self._adapted(agents) if self.sharing == "lora" else self._whole(agents)
        if self._run is not None:
            restore(self._run, self.step, made)
        give_optimizers(made, own)
        return made

    def _whole(self, agents: Sequence[str]) -> dict[str, HFPolicy]:
        """Policies of whole models."""
        from laconic.learners.agents.load import load_common, load_model

        # Weights of a checkpoint are put into a model of their own.
        common = self.frozen and self._run is None
        load: Callable[..., PreTrainedModel] = load_common if common else load_model
        load = partial(load, device=self.device, **self._how)
        saved = agent_folders(self._source)
        if saved and (self.sharing == "shared" or not saved.keys() >= set(agents)):
            raise self._refusal("separate policies", saved, "separate", agents)
        if saved:
            how = self._precision(next(iter(saved.values())))
            models = {agent: load(saved[agent], dtype=how.dtype) for agent in agents}
            return {agent: self._policy(model, how) for agent, model in models.items()}
        how = self._precision(self._base)
        model = load(self._base, dtype=how.dtype)
        if self.sharing == "shared":
            return dict.fromkeys(agents, self._policy(model, how))
        if common:
            return {agent: self._policy(model, how) for agent in agents}
        return {agent: self._policy(copy.deepcopy(model), how) for agent in agents}

    def _adapted(self, agents: Sequence[str]) -> dict[str, HFPolicy]:
        """Policies of adapters: new ones, all from one folder, or each from its own."""
        from laconic.learners.agents.load import load_common

        whole = agent_folders(self._source)
        if whole:
            raise self._refusal("separate policies", whole, "separate", agents)
        saved = adapter_folders(self._source)
        if saved and not saved.keys() >= set(agents):
            raise self._refusal("LoRA adapters", saved, "lora", agents)
        how = self._precision(self._base)
        base = load_common(self._base, how.dtype, self.device, **self._how)

        def adapter(agent: str) -> Adapter:
            if saved or is_adapter(self._source):
                return saved_adapter(base, saved.get(agent, self._source))
            return new_adapter(base, self._base, self.lora)

        made = {agent: adapter(agent) for agent in agents}
        return {agent: self._policy(one.model, how, one) for agent, one in made.items()}

    def _precision(self, name: str) -> Precision:
        """How the model of that name is kept and computed."""
        from laconic.learners.agents.load import count_parameters
        from laconic.learners.agents.precision import choose

        trained = not (self.frozen or self.sharing == "lora")
        return choose(
            self.precision, lambda: count_parameters(name, self.revision), trained, self.device
        )

    def _policy(
        self, model: PreTrainedModel, precision: Precision, adapter: Adapter | None = None
    ) -> HFPolicy:
        from laconic.learners.agents.load import check_sampling, recompute_activations
        from laconic.learners.agents.policy import HFPolicy

        if self.frozen:
            model.requires_grad_(False)
        elif self.gradient_checkpointing:
            recompute_activations(model)
        policy = HFPolicy(
            model,
            self.tokenizer,
            self.sampling,
            adapter=adapter,
            recompute_logprobs=self.recompute_logprobs,
            precision=precision,
        )
        with policy.computing():
            check_sampling(model, self.model, precision.exact)
        return policy

    @cached_property
    def _run(self) -> Path | None:
        """The run folder that `model` names; None where it names something else."""
        return run_folder(self.model)

    @property
    def _how(self) -> dict[str, Any]:
        """How weights are loaded, besides their type and device."""
        return {
            "attention": self.attn_implementation,
            "revision": self.revision,
            "quantization": self.quantization,
        }

    @cached_property
    def _source(self) -> str:
        """Where the policies lie: `model`, what a run left, or the copy of what is on the hub."""
        return fetched(self.model, self.revision) if self._run is None else form_of(self._run)

    @property
    def _base(self) -> str:
        """The model that is loaded: `model` itself, or the base of the adapters in it."""
        if self.sharing == "lora":
            return base_of(self._source, self.lora)
        saved = adapter_folders(self._source)
        if saved or (is_adapter(self._source) and not agent_folders(self._source)):
            raise self._refusal("LoRA adapters", saved or {"one agent": ""}, "lora", ())
        return self._source

    def _refusal(
        self, held: str, saved: Mapping[str, str], sharing: Sharing, agents: Sequence[str]
    ) -> SettingError:
        asked = f" and {', '.join(agents)}" if agents else ""
        return SettingError(
            f"agent.model={self.model!r} holds {held} of {', '.join(saved)}; use it with"
            f" agent.sharing={sharing} and these agents, or name one of its folders; got"
            f" agent.sharing={self.sharing}{asked}"
        )


def give_optimizers(policies: Mapping[str, HFPolicy], own: Mapping[str, Mapping[str, Any]]) -> None:
    """Give each policy the optimiser settings of its agents.

    Args:
        policies: by agent; equal objects share weights, and so an optimiser.
        own: by agent; agents without an entry keep what their policy has.

    Raises:
        SettingError: agents that share a policy have different settings.
    """
    for agent, settings in own.items():
        policy = policies[agent]
        mates = [other for other, one in policies.items() if one is policy]
        differing = [other for other in mates if own.get(other) != settings]
        if differing:
            raise SettingError(
                f"agent.optimizer gives {agent!r} settings {dict(settings)!r} that"
                f" {differing[0]!r}, who shares its weights, does not have; use"
                " agent.sharing=separate or agent.sharing=lora, or set optimizer.<setting>"
            )
        policy.optimizer = dict(settings)


def __getattr__(name: str) -> Any:
    """Load the class of the policies when it is asked for, so that settings need no torch."""
    if name == "HFPolicy":
        from laconic.learners.agents.policy import HFPolicy

        return HFPolicy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

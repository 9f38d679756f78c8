"""Teams of agents that sample from a causal language model of `transformers`.

`HFTeam` builds the policy of each agent of an environment. All agents share one policy, or each has
its own, or each has its own LoRA adapter on a common base. Settings are checked without torch,
which is imported only when a model is loaded.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pettingzoo import ParallelEnv

from laconic.envs.checks import TRUSTED, Model, Trust, Word, check_fields
from laconic.envs.dialogue.roster import by_agent
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.agents.folders import agent_folders, check_model, download_policies
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
from laconic.learners.agents.trained import policy_source, restore, run_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from laconic.learners.agents.policy import HFPolicy
    from laconic.learners.agents.precision import Precision

__all__ = ["HFPolicy", "HFTeam", "Sharing", "SamplingSettings", "give_optimizers"]

Sharing = Literal["shared", "separate", "lora"]
ATTENTION = Trust(("sdpa", "eager", "flash_attention_2"))
"""Attention of `transformers`, which loads code where it is the name of a repository."""


@dataclass
class HFTeam:
    """Builder of a team's policies from a causal language model."""

    model: Model
    """Name on the hub, GGUF file, folder written by `save_pretrained`, or run folder. A folder may
    also hold one model or adapter per agent, as training saves them and `extras.share` uploads
    them."""
    sharing: Sharing = "shared"
    """Sharing of weights. `shared`: one policy for all agents. `separate`: one policy per agent,
    all equal at first. `lora`: one adapter per agent, all equal at first, on a common frozen
    base."""
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    """Sampling settings of the policies."""
    lora: Lora = field(default_factory=Lora)
    """Settings of new adapters; used with `sharing=lora` only."""
    frozen: bool = False
    """True if the policies are not trained."""
    optimizer: Annotated[Mapping[str, Mapping[str, Any]] | None, TRUSTED] = None
    """Optimizer settings by role or agent; they replace those of the group `optimizer`."""
    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass, which saves memory."""
    recompute_logprobs: bool | None = None
    """Recompute behavior log-probabilities before an update. None: do so unless weights and passes
    are float32."""
    precision: Word = "auto"
    """Number types of weights and passes (`learners.agents.precision`): `float32`, `bfloat16`,
    `bfloat16_autocast` (float32 weights, bfloat16 passes) or `auto`. `auto` is `bfloat16_autocast`
    for more than 50 million parameters on a device that multiplies in bfloat16, and `float32`
    otherwise. Adapters are always float32."""
    device: Word = "auto"
    """Device of the weights; `auto` takes a GPU if there is one."""
    attn_implementation: Annotated[str | None, ATTENTION] = None
    """Attention implementation (`sdpa`, `eager`, `flash_attention_2`). None: the default of
    `transformers`."""
    revision: Word | None = None
    """Branch, tag or commit of a model on the hub. None: its main branch."""
    quantization: Word | None = None
    """`4bit` or `8bit`: quantize the base of adapters, or frozen weights, with `bitsandbytes`."""
    step: int | None = None
    """Step of the checkpoint to load if `model` is a run folder. None: the last checkpoint."""

    def __post_init__(self) -> None:
        """Check the settings, without loading a model."""
        if isinstance(self.lora, Mapping):
            self.lora = Lora(**self.lora)
        check_fields(self, "agent")
        if self.precision not in PRECISIONS:
            raise UnknownNameError("agent.precision", self.precision, PRECISIONS)
        if self.quantization is not None:
            self._check_quantization(self.quantization)
        if self.sharing == "lora":
            check_peft()
        if self.step is not None and self._run is None:
            raise SettingError(
                f"agent.step={self.step} needs agent.model to be a run folder, with config.yaml"
                f" and checkpoints/; got agent.model={self.model!r}"
            )
        if self._run is None:
            check_model(self.model)

    def defaults(self, imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other config groups that suit a language model, by dotted key.

        Args:
            imitates: whether the team learns from demonstrations.
        """
        # Published rates of adapters in reinforcement learning are 1e-5 to 8e-5.
        rate = 1e-4 if imitates else 2e-5 if self.sharing == "lora" else 1e-6
        teacher = "learner.collect.teacher"
        return {
            "env.instructions": "full",
            "env.budget.message": 255,
            "env.budget.episode": 1020,
            "optimizer.lr": rate,
            "learner.objective.normalizer": float(self.sampling.max_reply_tokens),
            # A teacher that is silent only if it has nothing useful to say.
            f"{teacher}.silent_informed": 0.0,
            f"{teacher}.silent_uninformed": 0.6,
            "learner.collect.others": 0.8,
        }

    def for_environment(self, name: str) -> Self:
        """Return the team with weights that suit an environment, by its name."""
        return self

    def _check_quantization(self, kind: str) -> None:
        if self.sharing != "lora" and not self.frozen:
            raise SettingError(
                f"agent.quantization={kind} works only for weights that are not trained; set"
                " agent.sharing=lora or agent.frozen=true, or agent.quantization=null"
            )
        check_quantization(kind)

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Tokenizer of the model; adapters use that of their base."""
        from laconic.learners.agents.load import load_tokenizer

        folder = next(iter(agent_folders(self._source).values()), self._base)
        return load_tokenizer(folder, self.revision)

    @cached_property
    def tokenize(self) -> Callable[[str], Sequence[str]]:
        """Cuts text into the tokens of the model; budgets are counted with it."""
        from laconic.learners.agents.chat import tokenize_with

        return tokenize_with(self.tokenizer)

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, HFPolicy]:
        """Return the policy of each agent; agents that share weights get the same object.

        Raises:
            SettingError: the model cannot be loaded, or was saved for other agents; or agents that
                share a policy have different optimizer settings.
            UnknownNameError: `optimizer` names an agent or role that does not exist.
        """
        agents = environment.possible_agents
        optimizers = by_agent("agent or role in agent.optimizer", self.optimizer or {}, agents)
        load = self._load_adapters if self.sharing == "lora" else self._load_models
        policies = load(agents)
        if self._run is not None:
            restore(self._run, self.step, policies)
        give_optimizers(policies, optimizers)
        return policies

    def _load_models(self, agents: Sequence[str]) -> dict[str, HFPolicy]:
        """Return policies that consist of whole models."""
        from laconic.learners.agents.load import load_common, load_model

        # The weights of a checkpoint must not end up in a model that another policy uses.
        common = self.frozen and self._run is None
        load: Callable[..., PreTrainedModel] = load_common if common else load_model
        load = partial(load, device=self.device, **self._load_options)
        folders = agent_folders(self._source)
        if folders and (self.sharing == "shared" or not folders.keys() >= set(agents)):
            raise self._refusal("separate policies", folders, "separate", agents)
        if folders:
            precision = self._precision(next(iter(folders.values())))
            models = {agent: load(folders[agent], dtype=precision.dtype) for agent in agents}
            return {agent: self._policy(model, precision) for agent, model in models.items()}
        precision = self._precision(self._base)
        model = load(self._base, dtype=precision.dtype)
        if self.sharing == "shared":
            return dict.fromkeys(agents, self._policy(model, precision))
        if common:
            return {agent: self._policy(model, precision) for agent in agents}
        return {agent: self._policy(copy.deepcopy(model), precision) for agent in agents}

    def _load_adapters(self, agents: Sequence[str]) -> dict[str, HFPolicy]:
        """Return policies that consist of a common base and one adapter per agent.

        Adapters are new, or all loaded from one folder, or each loaded from its agent's folder.
        """
        from laconic.learners.agents.load import load_common

        models = agent_folders(self._source)
        if models:
            raise self._refusal("separate policies", models, "separate", agents)
        folders = adapter_folders(self._source)
        if folders and not folders.keys() >= set(agents):
            raise self._refusal("LoRA adapters", folders, "lora", agents)
        precision = self._precision(self._base)
        base = load_common(self._base, precision.dtype, self.device, **self._load_options)

        def adapter_of(agent: str) -> Adapter:
            if folders or is_adapter(self._source):
                return saved_adapter(base, folders.get(agent, self._source))
            return new_adapter(base, self._base, self.lora)

        adapters = {agent: adapter_of(agent) for agent in agents}
        return {
            agent: self._policy(adapter.model, precision, adapter)
            for agent, adapter in adapters.items()
        }

    def _precision(self, name: str) -> Precision:
        """Return the number types for the weights and passes of a model."""
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

        if self.frozen:
            model.requires_grad_(False)
        elif self.gradient_checkpointing:
            recompute_activations(model)
        policy = self._kind()(
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

    def _kind(self) -> type[HFPolicy]:
        """Return the class of the policies."""
        from laconic.learners.agents.policy import HFPolicy

        return HFPolicy

    @cached_property
    def _run(self) -> Path | None:
        """Run folder that `model` names; None if it names something else."""
        return run_folder(self.model)

    @property
    def _load_options(self) -> dict[str, Any]:
        """Arguments of `load_model` except name, number type and device."""
        return {
            "attention": self.attn_implementation,
            "revision": self.revision,
            "quantization": self.quantization,
        }

    @cached_property
    def _source(self) -> str:
        """Folder or name of the policies: `model`, its local copy, or the policies of a run."""
        if self._run is None:
            return download_policies(self.model, self.revision)
        return policy_source(self._run)

    @property
    def _base(self) -> str:
        """Folder or name of the model to load: `model` itself, or the base of its adapters."""
        if self.sharing == "lora":
            return base_of(self._source, self.lora)
        folders = adapter_folders(self._source)
        if folders or (is_adapter(self._source) and not agent_folders(self._source)):
            raise self._refusal("LoRA adapters", folders or {"one agent": ""}, "lora", ())
        return self._source

    def _refusal(
        self, content: str, folders: Mapping[str, str], sharing: Sharing, agents: Sequence[str]
    ) -> SettingError:
        """Return the error for a folder of policies that does not fit `sharing` or the agents."""
        team = f" and {', '.join(agents)}" if agents else ""
        return SettingError(
            f"agent.model={self.model!r} holds {content} of {', '.join(folders)}; use it with"
            f" agent.sharing={sharing} and these agents, or name one of its folders; got"
            f" agent.sharing={self.sharing}{team}"
        )


def give_optimizers(
    policies: Mapping[str, HFPolicy], optimizers: Mapping[str, Mapping[str, Any]]
) -> None:
    """Give each policy the optimizer settings of its agents.

    Args:
        policies: policy of each agent; agents that share weights have the same object.
        optimizers: optimizer settings by agent; other agents keep those of their policy.

    Raises:
        SettingError: agents that share a policy have different settings.
    """
    for agent, settings in optimizers.items():
        policy = policies[agent]
        mates = [mate for mate, other in policies.items() if other is policy]
        differing = [mate for mate in mates if optimizers.get(mate) != settings]
        if differing:
            raise SettingError(
                f"agent.optimizer has settings for {agent!r}, {dict(settings)!r}, that differ from"
                f" those of {differing[0]!r}, who shares its weights; use"
                " agent.sharing=separate or agent.sharing=lora, or set optimizer.<setting>"
            )
        policy.optimizer = dict(settings)


def __getattr__(name: str) -> Any:
    """Import `HFPolicy` on first use, so that checking settings does not import torch."""
    if name == "HFPolicy":
        from laconic.learners.agents.policy import HFPolicy

        return HFPolicy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""LoRA adapters (arXiv 2106.09685): small trained matrices beside the layers of a frozen base.

Every agent's adapter sits in a module tree of its own; the parameters of the base are the same
tensors in all of them. So the base is in memory once, nothing is switched between agents, and no
agent can speak or learn with another's adapter. On disk an adapter has the form of stock `peft`,
which this module imports only where adapters are made.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laconic.envs.errors import SettingError
from laconic.learners.agents.folders import agent_folders

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

CONFIG = "adapter_config.json"
"""The file that makes a folder an adapter."""


@dataclass(frozen=True, slots=True)
class Lora:
    """The form of new adapters; saved ones bring theirs.

    There is no dropout among the settings: policies stay in evaluation mode.
    """

    rank: int = 16
    """Inner width of the added matrices."""
    alpha: float = 32.0
    """The added product is scaled by `alpha / rank`."""
    target_modules: str | tuple[str, ...] | list[str] = "all-linear"
    """Layers that get one: `all-linear` (the output layer left out), or the ends of their names."""
    base: str | None = None
    """The base model of saved adapters, where it has moved; None takes the recorded one."""

    def __post_init__(self) -> None:
        """Check ranges."""
        if isinstance(self.rank, bool) or not isinstance(self.rank, int) or self.rank < 1:
            raise SettingError(
                f"agent.lora.rank must be a whole number of at least 1; got {self.rank!r}"
            )
        if not 0 < self.alpha < math.inf:
            raise SettingError(f"agent.lora.alpha must be above 0; got {self.alpha!r}")
        if not self.target_modules:
            raise SettingError("agent.lora.target_modules must name a layer; all-linear takes all")


class Adapter:
    """One adapter in its own module tree on a common base."""

    def __init__(self, base: PreTrainedModel, wrapped: Any) -> None:
        """Keep what is needed to save it.

        Args:
            base: the common base; held, so that others find it in memory.
            wrapped: the `peft` model around the tree.
        """
        self._base = base
        self._wrapped = wrapped
        self._form: _Form | None = None
        # Filling it in takes longer than writing the weights, and it says nothing of them.
        wrapped.create_or_update_model_card = _no_card

    @property
    def model(self) -> PreTrainedModel:
        """The tree: a plain model of `transformers` whose layers carry the adapter."""
        model: PreTrainedModel = self._wrapped.get_base_model()
        return model

    @property
    def rank(self) -> int:
        """Inner width of its matrices."""
        return int(self._config.r)

    @property
    def base_name(self) -> str:
        """Name or folder of its base."""
        return str(self._config.base_model_name_or_path)

    @property
    def _config(self) -> Any:
        return self._wrapped.peft_config[self._wrapped.active_adapter]

    def switched_off(self) -> AbstractContextManager[None]:
        """Within it the tree computes as the base does."""
        off: AbstractContextManager[None] = self._wrapped.disable_adapter()
        return off

    def save(self, folder: Path) -> None:
        """Write the adapter, and the name of its base, so that stock `peft` loads them.

        `peft` does so the first time. It takes longer to find the names of the weights than to
        write them, and an engine is handed them at every step; so later they go where they went.
        """
        if self._form is None:
            self._wrapped.save_pretrained(folder, save_embedding_layers=False)
            self._form = _Form.of(self._wrapped, folder)
        else:
            self._form.write(folder)


@dataclass(frozen=True, slots=True)
class _Form:
    """What `peft` has made of an adapter on disk, but for the values of its weights."""

    config: bytes
    """Of its file."""
    weights: Mapping[str, torch.nn.Parameter]
    """By their names there."""

    @classmethod
    def of(cls, wrapped: Any, folder: Path) -> _Form | None:
        """From an adapter and the folder that it was just written to.

        None where what is written are not just its parameters, each once.
        """
        own = {one.data_ptr(): one for one in wrapped.parameters()}
        written = require_peft().get_peft_model_state_dict(wrapped, save_embedding_layers=False)
        found = {name: own[at] for name, one in written.items() if (at := one.data_ptr()) in own}
        if len(set(map(id, found.values()))) < len(written):
            return None
        return cls((folder / CONFIG).read_bytes(), found)

    def write(self, folder: Path) -> None:
        """Write the weights as they are now."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        values = {name: one.detach().contiguous() for name, one in self.weights.items()}
        save_file(values, folder / "adapter_model.safetensors", metadata={"format": "pt"})
        (folder / CONFIG).write_bytes(self.config)


def check_peft() -> None:
    """Check that the package `peft` is installed, without importing it.

    Raises:
        SettingError: it is not.
    """
    if find_spec("peft") is None:
        raise SettingError("agent.sharing=lora needs the package peft: pip install 'laconic[lora]'")


def require_peft() -> Any:
    """Import the package `peft`.

    Raises:
        SettingError: it is not installed.
    """
    check_peft()
    import peft

    return peft


def new_adapter(base: PreTrainedModel, name: str, lora: Lora) -> Adapter:
    """Create an adapter that changes nothing yet; adapters of one form start equal.

    Args:
        base: the frozen base.
        name: under which it was loaded; it is recorded with the adapter.
        lora: the form.

    Raises:
        SettingError: a name in `target_modules` matches no layer.
    """
    import torch

    from laconic.learners.agents.load import share_frozen

    peft = require_peft()
    config = peft.LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        target_modules=lora.target_modules,
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        try:
            with _without_foresight():
                wrapped = peft.get_peft_model(share_frozen(base), config)
        except ValueError as error:
            raise SettingError(
                f"agent.lora.target_modules={lora.target_modules!r} does not fit"
                f" agent.model={name!r}: {error}"
            ) from error
    _check_targets(base, name, lora, wrapped.targeted_module_names)
    folder = Path(name).expanduser()
    config.base_model_name_or_path = str(folder.resolve()) if folder.exists() else name
    return Adapter(base, wrapped)


def _check_targets(base: PreTrainedModel, name: str, lora: Lora, adapted: Sequence[str]) -> None:
    """Refuse names that match no layer, and warn of weights that get no adapter.

    Args:
        base: the frozen base.
        name: of the base, for the message.
        lora: names the layers.
        adapted: full names of the layers that have an adapter.
    """
    targets = () if isinstance(lora.target_modules, str) else lora.target_modules
    without = [
        target
        for target in targets
        if not any(layer == target or layer.endswith(f".{target}") for layer in adapted)
    ]
    if without:
        matrices = (weight for weight in base.named_parameters() if weight[1].dim() == 2)
        layers = {full.removesuffix(".weight").rpartition(".")[2] for full, _ in matrices}
        raise SettingError(
            f"agent.lora.target_modules names {', '.join(without)}, but no layer of"
            f" agent.model={name!r} is called so; its layers are {', '.join(sorted(layers))}"
        )
    if lora.target_modules == "all-linear":
        _warn_of_experts(base, name)


def _warn_of_experts(base: PreTrainedModel, name: str) -> None:
    """Warn of matrices of several experts: they are one parameter each, and no layer."""
    from laconic.learners.agents.cache import warn_once

    sizes = {full: one.numel() for full, one in base.named_parameters() if one.dim() == 3}
    stacked = {full: size for full, size in sizes.items() if "conv" not in full}
    if stacked:
        warn_once(
            "agent.lora.target_modules=all-linear gives no adapter to the stacked weights of"
            " experts, such as %s; they are %.0f %% of the parameters of %s and stay frozen",
            next(iter(stacked)),
            100 * sum(stacked.values()) / sum(one.numel() for one in base.parameters()),
            name,
        )


def saved_adapter(base: PreTrainedModel, folder: str) -> Adapter:
    """Load an adapter that `Adapter.save` or `peft` wrote.

    Raises:
        SettingError: the files are damaged, or of another base.
    """
    from laconic.learners.agents.load import share_frozen

    peft = require_peft()
    try:
        with _without_foresight():
            wrapped = peft.PeftModel.from_pretrained(share_frozen(base), folder, is_trainable=True)
    except Exception as error:  # What is wrong with the files decides the type, and any may come.
        raise SettingError(
            f"the adapter in {folder!r} could not be put on its base: {error} Give a folder that"
            " peft wrote for this base"
        ) from error
    return Adapter(base, wrapped)


def adapter_folders(name: str) -> Mapping[str, str]:
    """Return the folders of saved adapters by agent; empty if `name` holds none or is one."""
    return agent_folders(name, CONFIG)


def is_adapter(name: str) -> bool:
    """Whether a folder is one adapter."""
    return (Path(name).expanduser() / CONFIG).is_file()


def base_of(name: str, lora: Lora) -> str:
    """Return the base model behind a name.

    Args:
        name: a base model, an adapter's folder, or a folder of adapters.
        lora: says where the base of saved adapters is now.

    Raises:
        SettingError: the adapters' base is recorded nowhere, or is no longer there.
    """
    folder = name if is_adapter(name) else next(iter(adapter_folders(name).values()), None)
    if folder is None:
        return name
    recorded = lora.base or _recorded_base(folder)
    looks_local = str(recorded).startswith((".", "/", "~"))
    if not recorded or (looks_local and not Path(recorded).expanduser().exists()):
        raise SettingError(
            f"the adapter in {folder!r} belongs to the base model {recorded!r}, which is not there;"
            " pass agent.lora.base=<folder or name>"
        )
    return recorded


def _recorded_base(folder: str) -> str | None:
    try:
        config = json.loads((Path(folder).expanduser() / CONFIG).read_text("utf-8"))
        found = config.get("base_model_name_or_path")
    except (OSError, ValueError, AttributeError) as error:
        raise SettingError(f"{folder!r} holds no readable {CONFIG}: {error}") from error
    return found if isinstance(found, str) else None


def _no_card(folder: str) -> None:
    """In the place of what writes `peft`'s own card beside an adapter."""


@contextmanager
def _without_foresight() -> Iterator[None]:
    """Keep to ourselves what `peft` uses of `transformers` that a later version will drop."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield

"""LoRA adapters (arXiv 2106.09685): small trained matrices beside the layers of a frozen base.

Each agent's adapter has a module tree of its own. The parameters of the base are the same tensors
in all trees, so the base is in memory once. Nothing is switched between agents, and no agent can
sample or learn with another's adapter. Adapters are saved in the format of `peft`, which is
imported only when an adapter is created or loaded.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laconic.envs.checks import Count, Model, Positive, Word, check_fields
from laconic.envs.errors import SettingError, install
from laconic.learners.agents.adapter_config import CONFIG, read_config, read_content
from laconic.learners.agents.folders import agent_folders

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class Lora:
    """Settings of new adapters; saved adapters keep their own.

    There is no dropout, because policies stay in evaluation mode.
    """

    rank: Count = 16
    """Rank of the added matrices."""
    alpha: Positive = 32.0
    """Scale of the added product, which is multiplied by `alpha / rank`."""
    target_modules: Word | tuple[Word, ...] | list[Word] = "all-linear"
    """Layers with an adapter: `all-linear` (all except the output layer), or endings of names."""
    base: Model | None = None
    """Base model of saved adapters, if it has moved. None: the base recorded in their config."""

    def __post_init__(self) -> None:
        """Check ranges."""
        check_fields(self, "agent.lora")
        if not self.target_modules:
            raise SettingError(
                "agent.lora.target_modules must name a layer, or be all-linear for all layers;"
                f" got {self.target_modules!r}"
            )


class Adapter:
    """One adapter in its own module tree on a common base."""

    def __init__(self, base: PreTrainedModel, wrapped: Any) -> None:
        """Wrap an adapter of `peft`.

        Args:
            base: common base; a reference keeps it in memory for the other adapters.
            wrapped: `peft` model around the module tree.
        """
        self._base = base
        self._wrapped = wrapped
        self._files: _AdapterFiles | None = None
        # Writing the model card takes longer than writing the weights, and ours is written later.
        wrapped.create_or_update_model_card = _skip_card

    @property
    def model(self) -> PreTrainedModel:
        """Module tree: a model of `transformers` whose layers contain the adapter."""
        model: PreTrainedModel = self._wrapped.get_base_model()
        return model

    @property
    def rank(self) -> int:
        """Rank of the added matrices."""
        return int(self._config.r)

    @property
    def base_name(self) -> str:
        """Name or folder of the base."""
        return str(self._config.base_model_name_or_path)

    @property
    def _config(self) -> Any:
        return self._wrapped.peft_config[self._wrapped.active_adapter]

    def switched_off(self) -> AbstractContextManager[None]:
        """Return a context in which the model computes as its base does."""
        off: AbstractContextManager[None] = self._wrapped.disable_adapter()
        return off

    def save(self, folder: Path) -> None:
        """Write the adapter and the name of its base so that `peft` can load them.

        `peft` writes the first time. Later calls reuse its config and its names of the weights:
        computing these takes longer than writing, and an engine loads the adapter at every step.
        """
        if self._files is None:
            self._wrapped.save_pretrained(folder, save_embedding_layers=False)
            self._files = _AdapterFiles.written_by_peft(self._wrapped, folder)
        else:
            self._files.write(folder)


@dataclass(frozen=True, slots=True)
class _AdapterFiles:
    """Files of an adapter as `peft` writes them, with the weights by reference."""

    config: bytes
    """Content of `adapter_config.json`."""
    weights: Mapping[str, torch.nn.Parameter]
    """Parameters of the adapter, by their name in the file."""

    @classmethod
    def written_by_peft(cls, wrapped: Any, folder: Path) -> _AdapterFiles | None:
        """Return the files that `peft` has just written to a folder.

        Return None if they hold anything except the adapter's parameters, each once. `peft` then
        has to write them every time.
        """
        parameters = {parameter.data_ptr(): parameter for parameter in wrapped.parameters()}
        saved = require_peft().get_peft_model_state_dict(wrapped, save_embedding_layers=False)
        weights = {
            name: parameters[tensor.data_ptr()]
            for name, tensor in saved.items()
            if tensor.data_ptr() in parameters
        }
        if len(set(map(id, weights.values()))) < len(saved):
            return None
        return cls((folder / CONFIG).read_bytes(), weights)

    def write(self, folder: Path) -> None:
        """Write the config and the current weights."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        values = {name: parameter.detach().contiguous() for name, parameter in self.weights.items()}
        save_file(values, folder / "adapter_model.safetensors", metadata={"format": "pt"})
        (folder / CONFIG).write_bytes(self.config)


def check_peft() -> None:
    """Check that the package `peft` is installed, without importing it.

    Raises:
        SettingError: it is not installed.
    """
    if find_spec("peft") is None:
        raise SettingError(f"agent.sharing=lora needs the package peft: {install('lora')}")


def require_peft() -> Any:
    """Import the package `peft`.

    Raises:
        SettingError: it is not installed.
    """
    check_peft()
    import peft

    return peft


def new_adapter(base: PreTrainedModel, name: str, lora: Lora) -> Adapter:
    """Create an adapter that changes nothing yet; adapters with equal settings start equal.

    Args:
        base: frozen base.
        name: name or folder from which the base was loaded; recorded with the adapter.
        lora: settings of the adapter.

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
            with _ignore_future_warnings():
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
    """Refuse names that match no layer, and warn of weights without an adapter.

    Args:
        base: frozen base.
        name: name of the base, for the message.
        lora: settings that name the layers.
        adapted: full names of the layers with an adapter.
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
            f"agent.lora.target_modules names {', '.join(without)}, but agent.model={name!r} has"
            f" no such layer; its layers are {', '.join(sorted(layers))}"
        )
    if lora.target_modules == "all-linear":
        _warn_of_experts(base, name)


def _warn_of_experts(base: PreTrainedModel, name: str) -> None:
    """Warn that stacked weights of experts get no adapter: they are parameters, not layers."""
    from laconic.learners.agents.cache import warn_once

    stacked = {
        full: weight.numel()
        for full, weight in base.named_parameters()
        if weight.dim() == 3 and "conv" not in full
    }
    if stacked:
        warn_once(
            "agent.lora.target_modules=all-linear gives no adapter to the stacked weights of"
            " experts, such as %s; they are %.0f %% of the parameters of %s and stay frozen",
            next(iter(stacked)),
            100 * sum(stacked.values()) / sum(weight.numel() for weight in base.parameters()),
            name,
        )


def saved_adapter(base: PreTrainedModel, folder: str) -> Adapter:
    """Load an adapter that `Adapter.save` or `peft` wrote.

    Raises:
        SettingError: the files are damaged, or belong to another base.
    """
    from laconic.learners.agents.load import share_frozen

    peft = require_peft()
    config, recorded = read_config(folder, peft)
    place = str(Path(folder).expanduser())
    if not (Path(place) / "adapter_model.safetensors").is_file():
        raise SettingError(
            f"the adapter in agent.model, {folder!r}, holds no adapter_model.safetensors; save it"
            " with save_pretrained of peft"
        )
    try:
        with _ignore_future_warnings():
            wrapped = peft.get_peft_model(share_frozen(base), config)
            _check_frozen(folder, wrapped)
            # The adapter "default" exists, so peft reads weights alone from the folder.
            mapping = getattr(base, "_checkpoint_conversion_mapping", None)
            result = wrapped.load_adapter(place, "default", is_trainable=True, key_mapping=mapping)
    except SettingError:
        raise
    except Exception as error:  # Damaged files can raise any type of error.
        raise SettingError(
            f"the adapter in agent.model, {folder!r}, does not fit its base: {error} Give a folder"
            " that peft wrote for this base"
        ) from error
    _check_complete(folder, [name for name in result.missing_keys if ".default" in name])
    _check_named(folder, result.unexpected_keys)
    _check_values(folder, wrapped)
    _check_saved_modules(folder, wrapped, config.modules_to_save or ())
    config.base_model_name_or_path = recorded
    return Adapter(base, wrapped)


def _check_complete(folder: str, missing: Sequence[str]) -> None:
    """Refuse an adapter whose file lacks weights: these would stay as they begin, at zero."""
    if missing:
        names = ", ".join(name.replace(".default", "") for name in missing[:3])
        raise SettingError(
            f"the adapter in agent.model, {folder!r}, lacks {len(missing)} weights of its config,"
            f" such as {names}; save it again with save_pretrained of peft, without a wrapper"
            " around the model"
        )


def _check_frozen(folder: str, wrapped: Any) -> None:
    """Refuse an adapter whose file holds weights of the base, which `peft` would overwrite.

    The base is the same tensors for all agents, and for the policy that a run compares with.
    """
    from safetensors import safe_open

    with safe_open(Path(folder).expanduser() / "adapter_model.safetensors", "pt") as file:
        held = {name: file.get_slice(name).get_dtype() for name in file.keys()}
    numbers = [f"{name} of type {kind}" for name, kind in held.items() if not _is_float(kind)]
    if numbers:
        raise SettingError(
            f"the adapter in agent.model, {folder!r}, holds {numbers[0]}; expected weights of a"
            " floating point type; save it again with save_pretrained of peft"
        )
    weights = wrapped.named_parameters(remove_duplicate=False)
    _check_named(
        folder, [name for name, weight in weights if name in held and not weight.requires_grad]
    )


def _is_float(kind: str) -> bool:
    """Return whether a type of safetensors is a floating point type (`F32`, `BF16`, `F8_E4M3`)."""
    return kind.startswith(("F", "BF"))


def _check_values(folder: str, wrapped: Any) -> None:
    """Refuse weights that are not finite: every reply and every loss would be NaN."""
    for name, weight in wrapped.named_parameters():
        if weight.requires_grad and not bool(weight.isfinite().all()):
            raise SettingError(
                f"the adapter in agent.model, {folder!r}, holds a weight that is NaN or infinite"
                f" in {name.replace('.default', '')}; give one of an earlier step"
            )


def _check_saved_modules(folder: str, wrapped: Any, names: Iterable[str]) -> None:
    """Refuse names of whole modules that the base lacks: `peft` passes over them."""
    modules = [name for name, _ in wrapped.named_modules()]
    for name in names:
        if not any(module.endswith(name) for module in modules):
            raise SettingError(
                f"the adapter in agent.model, {folder!r}, has modules_to_save={[name]} in {CONFIG},"
                " but its base has no such module; remove the name, or set agent.lora.base"
            )


def _check_named(folder: str, others: Sequence[str]) -> None:
    """Refuse an adapter whose file holds weights that its config does not name."""
    if others:
        raise SettingError(
            f"the adapter in agent.model, {folder!r}, holds {len(others)} weights that its config"
            f" does not name, such as {', '.join(sorted(others)[:3])}; save it again with"
            " save_pretrained(<folder>, save_embedding_layers=False)"
        )


def adapter_folders(name: str) -> Mapping[str, str]:
    """Return the folder of each agent's adapter; empty if there is none or `name` is an adapter."""
    return agent_folders(name, CONFIG)


def is_adapter(name: str) -> bool:
    """Return whether a folder is one adapter."""
    return (Path(name).expanduser() / CONFIG).is_file()


def base_of(name: str, lora: Lora) -> str:
    """Return the name or folder of the base model to load.

    Args:
        name: base model, folder of an adapter, or folder of several agents' adapters.
        lora: settings; `lora.base` replaces the recorded base of saved adapters.

    Raises:
        SettingError: the base of the adapters is not recorded, or its folder does not exist.
    """
    folder = name if is_adapter(name) else next(iter(adapter_folders(name).values()), None)
    if folder is None:
        return name
    recorded = lora.base or _recorded_base(folder)
    looks_local = str(recorded).startswith((".", "/", "~"))
    if not recorded or (looks_local and not Path(recorded).expanduser().exists()):
        raise SettingError(
            f"the adapter in {folder!r} needs the base model {recorded!r}, which does not exist;"
            " set agent.lora.base=<folder or name>"
        )
    return recorded


def _recorded_base(folder: str) -> str | None:
    base = read_content(folder).get("base_model_name_or_path")
    return base if isinstance(base, str) else None


def _skip_card(folder: str) -> None:
    """Replace the method of `peft` that writes a model card: write nothing."""


@contextmanager
def _ignore_future_warnings() -> Iterator[None]:
    """Hide warnings of `transformers` that concern the code of `peft`, not the user's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield

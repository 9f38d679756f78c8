"""Hands a whole model to vLLM servers from GPU to GPU, by the trainer's side of vLLM itself.

Written after vLLM 0.32 (`vllm.distributed.weight_transfer`), which has to be importable in the
environment that trains; nothing else of this project imports it. Every process of a training calls
every function, because sharded weights come together as they are sent; the main one sends. The
order at a server: `/init_weight_transfer_engine` once, then for each version
`/start_weight_update`, `/update_weights` while the trainer broadcasts, `/finish_weight_update`.

Not run: it needs two GPUs. Tests hold the refusals, and the order of calls at a server of our own.
"""

from __future__ import annotations

import socket
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import torch
from torch import nn

from laconic.envs.errors import SettingError
from laconic.learners.engines.process import free_port
from laconic.learners.errors import ServerError

_PACKAGE = "vllm.distributed.weight_transfer"


def require_trainer() -> Any:
    """VLLM's package of the trainer's side.

    Raises:
        SettingError: it cannot be imported here, or there is no GPU.
    """
    if not torch.cuda.is_available():
        raise SettingError(
            "engine.transfer=nccl sends weights from GPU to GPU, and torch finds no GPU here; take"
            " engine.transfer=disk"
        )
    try:
        return import_module(_PACKAGE)
    except ImportError as error:
        raise SettingError(
            "engine.transfer=nccl needs vLLM in the environment that trains (pip install"
            f" 'laconic[vllm]'): {error}; or take engine.transfer=disk"
        ) from error


class Transfer:
    """The way of one model to one server, open from the beginning of a run to its end."""

    def __init__(
        self, model: nn.Module, url: str, address: str, port: int, workers: int, rank: int
    ) -> None:
        """Meet the server's workers.

        Args:
            model: what is sent, whole or sharded.
            url: of the server.
            address: of the main process, as the server sees it.
            port: free there.
            workers: GPUs of the server.
            rank: of this process; 0 sends.

        Raises:
            ServerError: the server did not come to meet.
        """
        trainer, nccl = require_trainer(), import_module(f"{_PACKAGE}.nccl_engine")
        self._url = url
        try:
            self._engine = trainer.WeightTransferTrainerFactory.trainer_init(
                init_info=nccl.NCCLTrainerInitInfo(
                    master_address=address, master_port=port, world_size=1 + workers, rank=rank
                ),
                client=trainer.HTTPVLLMWeightSyncClient(url),
                source=trainer.ModuleSource(model),
            )
        except Exception as error:  # What went wrong at the other end decides the type.
            raise ServerError(
                f"{url} did not take up a transfer by NCCL: {error}. Start it with"
                ' VLLM_SERVER_DEV_MODE=1 and --weight-transfer-config \'{"backend": "nccl"}\', or'
                " take engine.transfer=disk"
            ) from error

    def send(self) -> None:
        """Send the present weights.

        Raises:
            ServerError: they did not arrive; the server may have some of them.
        """
        try:
            self._engine.send_weights()
        except Exception as error:
            raise ServerError(
                f"the weights did not reach {self._url} by NCCL: {error}. Nothing was trained on"
                " it; start the server anew and go on with the run"
            ) from error

    def close(self) -> None:
        """Leave the server's workers."""
        self._engine.shutdown()


def meeting_place(url: str) -> tuple[str, int]:
    """Address of this machine as a server sees it, and a port that is free here."""
    parts = urlsplit(url)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Nothing is sent: the system is asked which way it would go.
        probe.connect((parts.hostname or "127.0.0.1", parts.port or 80))
        return str(probe.getsockname()[0]), free_port()

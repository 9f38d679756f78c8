"""The trainer's side of vLLM's transfer of weights, as far as it is called, through a folder.

It has the names of `vllm.distributed.weight_transfer` and its order of requests; where that one
broadcasts by NCCL, this one writes the model for a server of ours (`fake_engine`).
"""

from __future__ import annotations

import json
import sys
import tempfile
import urllib.request
from dataclasses import dataclass
from types import ModuleType
from typing import Any


@dataclass
class NCCLTrainerInitInfo:
    master_address: str
    master_port: int
    world_size: int
    rank: int


class ModuleSource:
    def __init__(self, module: Any) -> None:
        self.module = module


class HTTPVLLMWeightSyncClient:
    def __init__(self, base_url: str) -> None:
        self.base_url = base_url

    def post(self, path: str, body: Any = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.base_url}/{path}", data, method="POST")
        urllib.request.urlopen(request).read()


class Engine:
    def __init__(self, client: HTTPVLLMWeightSyncClient, source: ModuleSource) -> None:
        self.client, self.source = client, source

    def send_weights(self) -> None:
        self.client.post("start_weight_update")
        with tempfile.TemporaryDirectory() as folder:
            self.source.module.save_pretrained(folder)
            self.client.post("update_weights", {"update_info": {"folder": folder}})
        self.client.post("finish_weight_update")

    def shutdown(self) -> None:
        pass


class WeightTransferTrainerFactory:
    @classmethod
    def trainer_init(cls, init_info: Any, *, client: Any, source: Any) -> Engine:
        info = {"rank_offset": 1, "world_size": init_info.world_size}
        client.post("init_weight_transfer_engine", {"init_info": info})
        return Engine(client, source)


def install(patch: Any) -> None:
    """Have this module found where vLLM's is looked for."""
    for name in ("vllm", "vllm.distributed"):
        patch.setitem(sys.modules, name, ModuleType(name))
    for name in ("", ".nccl_engine"):
        patch.setitem(sys.modules, f"vllm.distributed.weight_transfer{name}", sys.modules[__name__])

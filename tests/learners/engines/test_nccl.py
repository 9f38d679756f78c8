"""Weights from GPU to GPU: refused where it cannot be, and the order in which a server is asked."""

from __future__ import annotations

import fake_transfer
import pytest
import torch
from engine_checks import mismatch

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.engines.nccl import meeting_place
from laconic.learners.engines.vllm import VLLM
from laconic.learners.errors import ServerError


@pytest.fixture
def gpu(monkeypatch):
    """A machine that says it has a GPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    return monkeypatch


@pytest.fixture
def trainer(gpu):
    """In which a stand-in for vLLM can be imported, too."""
    fake_transfer.install(gpu)


def test_it_is_refused_in_one_line_where_there_is_no_gpu_or_no_vllm(gpu):
    with pytest.raises(SettingError, match=r"needs vLLM in the environment.*laconic\[vllm\]"):
        VLLM(transfer="nccl")
    gpu.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingError, match="torch finds no GPU here; take engine.transfer=disk"):
        VLLM(transfer="nccl")
    with pytest.raises(UnknownNameError, match="engine.transfer"):
        VLLM(transfer="carrier pigeon")


def test_adapters_are_refused(trainer, make_team, start_server, tmp_path):
    policies = make_team(device="cpu")
    with (
        VLLM(url=start_server(policies).url, transfer="nccl") as engine,
        pytest.raises(SettingError, match="this team has adapters"),
    ):
        engine.open(policies, tmp_path / "run")


def test_a_server_that_knows_no_transfer_is_refused_with_its_flag(
    trainer, make_team, start_server, tmp_path
):
    policies = make_team("shared", device="cpu")
    server = start_server(policies)
    with VLLM(url=server.url, transfer="nccl") as engine:
        server.without = {"/init_weight_transfer_engine"}
        with pytest.raises(ServerError, match="--weight-transfer-config"):
            engine.open(policies, tmp_path / "run")


def test_every_version_is_sent_between_a_pause_and_a_probe_and_nothing_is_written(
    trainer, make_team, start_server, tmp_path, play_groups, nudge
):
    policies = make_team("shared", device="cpu")
    server = start_server(policies)
    with VLLM(url=server.url, transfer="nccl", patience_seconds=5.0) as engine:
        engine.open(policies, tmp_path / "run")
        engine.sync()
        nudge(policies)
        begun = len(server.asked)
        engine.sync()
        asked = [path.split("?")[0] for path, _ in server.asked[begun:]]
        assert asked[:6] == [
            "/pause",
            "/start_weight_update",
            "/update_weights",
            "/finish_weight_update",
            "/reset_prefix_cache",
            "/update_weight_version",
        ]
        # Then it goes on, and the text is gone on with.
        assert asked[6:] == ["/resume", "/v1/completions"]
        assert server.version.endswith("solver_0/v00001")
        assert mismatch(play_groups(policies), policies) < 1e-5
        assert not any((tmp_path / "run").rglob("*.safetensors"))
        # What a server loses cannot be read from a disk.
        server.kill()
        server.start()
        with pytest.raises(ServerError, match="nothing of it is on disk|after episodes"):
            play_groups(policies)


def test_weights_that_did_not_arrive_stop_the_run(
    trainer, make_team, start_server, tmp_path, nudge
):
    policies = make_team("shared", device="cpu")
    server = start_server(policies)
    with VLLM(url=server.url, transfer="nccl") as engine:
        engine.open(policies, tmp_path / "run")
        engine.sync()
        nudge(policies)
        server.without = {"/update_weights"}
        with pytest.raises(ServerError, match="did not reach"):
            engine.sync()
        assert not server.paused
        server.without, server.sync_fault = set(), "stale"
        with pytest.raises(ServerError, match="speaks with the version before"):
            engine.sync()


def test_a_server_of_this_machine_is_met_here():
    address, port = meeting_place("http://127.0.0.1:8000")
    assert address == "127.0.0.1" and 0 < port < 2**16

"""Folders and seeds of several processes that run one program."""

from __future__ import annotations

from laconic.experiments.run_folder.folder import main_process_folder
from laconic.experiments.session.setup import rank_seed
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes


class Second(Processes):
    rank, count = 1, 2


def test_the_main_process_keeps_its_folder_and_another_throws_its_own_away(tmp_path):
    with main_process_folder(str(tmp_path / "run"), SINGLE_PROCESS) as folder:
        folder.append_metrics({"step": 0})
    assert (tmp_path / "run" / "metrics.jsonl").exists()
    stray = tmp_path / "stray"
    stray.mkdir()
    with main_process_folder(str(stray), Second()) as folder:
        folder.append_metrics({"step": 0})
        assert folder.path.is_dir() and folder.path != stray
    assert not folder.path.exists() and not stray.exists()
    # A folder that the main process has written to stays.
    with main_process_folder(str(tmp_path / "run"), Second()):
        pass
    assert (tmp_path / "run" / "metrics.jsonl").exists()


def test_the_main_process_draws_as_one_alone_does_and_the_others_apart():
    assert rank_seed(7, 0) == 7
    seeds = {rank_seed(seed, rank) for seed in range(20) for rank in range(4)}
    assert len(seeds) == 80
